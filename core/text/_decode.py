"""Bytes of unknown origin as text."""

from __future__ import annotations


def decode(data: bytes) -> str:
    r"""Return ``data`` as text, reading it as UTF-8.

    A byte that is no UTF-8 becomes its visible form, ``\xf0``; nothing is dropped and
    nothing raises. The text may still hold control characters: ``display`` comes after.
    """
    return data.decode("utf-8", errors="backslashreplace")
