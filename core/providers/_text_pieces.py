"""Text that arrives in pieces, some of which cut a character in half."""

from __future__ import annotations


def joined_surrogates(text: str) -> str:
    """Return ``text`` with surrogate pairs joined and lone surrogates as U+FFFD.

    JSON escapes spell a character above U+FFFF as two surrogates. A server that splits its
    text there sends halves, and text with a half in it cannot be stored as UTF-8.
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


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
        piece = joined_surrogates(piece)
        if piece:
            self._pieces.append(piece)
            self.length += len(piece)
        return piece

    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._pieces)
