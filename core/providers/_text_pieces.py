"""Text that arrives in pieces, some of which cut a character in half."""

from __future__ import annotations

from core.text import well_formed


class TextPieces:
    """Collects the pieces of one text, so that it equals what :meth:`add` returned, joined."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""
        self.length = 0

    def add(self, piece: str) -> str:
        """Take the next piece and return what of it can be shown now.

        A high surrogate at its end waits for the next piece; if none comes it was no character.
        """
        piece = self._half + piece
        self._half = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            self._half = piece[-1]
            piece = piece[:-1]
        piece = well_formed(piece)
        if piece:
            self._pieces.append(piece)
            self.length += len(piece)
        return piece

    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._pieces)
