"""Text with gaps, compared without case: in Python and in SQL alike."""

from __future__ import annotations

from dataclasses import dataclass

_CASE = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_ESCAPE = str.maketrans({"!": "!!", "%": "!%", "_": "!_"})


def fold(text: str) -> str:
    """Return ``text`` with A to Z as a to z: what SQLite's ``lower`` does."""
    return text.lower() if text.isascii() else text.translate(_CASE)


@dataclass(frozen=True, slots=True)
class Pattern:
    """At least two pieces of text, with anything between them.

    Attributes:
        pieces: folded; the first begins the text, the last ends it, both may be empty.
    """

    pieces: tuple[str, ...]

    @classmethod
    def glob(cls, text: str) -> Pattern:
        """Return the pattern of a text with at least one ``*``."""
        first, *middle, last = fold(text).split("*")
        return cls((first, *filter(None, middle), last))

    @classmethod
    def inside(cls, text: str) -> Pattern:
        """Return the pattern that finds ``text``, taken literally, anywhere."""
        return cls(("", fold(text), ""))

    def matches(self, text: str) -> bool:
        """Return whether all of ``text`` fits."""
        text = fold(text)
        first, *middle, last = self.pieces
        at, end = len(first), len(text) - len(last)
        if at > end or not text.startswith(first) or not text.endswith(last):
            return False
        for piece in middle:
            found = text.find(piece, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return True

    def like(self) -> str:
        """Return the pattern for ``lower(column) LIKE ? ESCAPE '!'``."""
        return "%".join(piece.translate(_ESCAPE) for piece in self.pieces)
