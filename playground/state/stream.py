"""Text that arrives in pieces, bounded in memory, with exact counts."""

from __future__ import annotations

from core.text import clip

SHOWN = 256_000
"""Characters of one text that the screen keeps; the whole text is in the store."""


class StreamText:
    """The head of a text that may still grow.

    Attributes:
        kept: the first ``SHOWN`` characters.
        total: characters of the whole text so far.
        tail: the last few hundred characters, for a line that shows the end.
        generation: changes when ``kept`` is no longer an extension of what it was.
    """

    __slots__ = ("generation", "kept", "tail", "total")

    _TAIL = 400

    def __init__(self, text: str = "") -> None:
        self.kept = ""
        self.tail = ""
        self.total = 0
        self.generation = 0
        if text:
            self.append(text)

    def __bool__(self) -> bool:
        return self.total > 0

    @property
    def hidden(self) -> int:
        """Return how many characters are not kept."""
        return self.total - len(self.kept)

    def append(self, text: str, offset: int | None = None) -> None:
        """Add a piece.

        Args:
            text: the piece.
            offset: characters before it, None: it follows the last one. What came before is
                dropped; a gap (a slow reader loses pieces) shows as ``…`` until the whole
                text replaces it.
        """
        if offset is not None and offset < self.total:
            text = text[self.total - offset :]
        if not text:
            return
        gap = 0 if offset is None else max(0, offset - self.total)
        if len(self.kept) == self.total:
            piece = "…" + text if gap else text
            self.kept += piece if len(piece) <= SHOWN else piece[:SHOWN]
            if len(self.kept) > SHOWN:
                self.kept = clip(self.kept, SHOWN).text
        self.total += gap + len(text)
        self.tail = (self.tail + text)[-self._TAIL :]

    def replace(self, text: str) -> None:
        """Take the whole text; what is on the screen stays if it is the head of it."""
        if text == self.kept or (len(text) == self.total and text.startswith(self.kept)):
            return
        kept = clip(text, SHOWN).text
        if not kept.startswith(self.kept):
            self.generation += 1
        self.kept = kept
        self.total = len(text)
        self.tail = text[-self._TAIL :]
