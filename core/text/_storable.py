"""Text that every database, file and wire can hold."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Return ``text`` with surrogate pairs joined and lone surrogates as U+FFFD.

    JSON escapes spell a character above U+FFFF as two surrogates. Who splits such text
    sends halves, and a half has no UTF-8.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def storable(text: str) -> str:
    """Return ``text`` well formed and without NUL, at which some readers of a text stop."""
    return well_formed(text.replace("\0", "\ufffd") if "\0" in text else text)
