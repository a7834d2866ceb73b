"""Text that a person hands over: arguments and standard input."""

from __future__ import annotations

import sys

from core.errors import UsageError

LARGEST = 2**62  # a number that every store holds
_MOST_BYTES = 10_000_000


def read_stdin(what: str) -> str:
    """Return standard input as text, without one newline at its end.

    Args:
        what: how the text is called in an error.

    Raises:
        UsageError: there is none, it is not UTF-8, or it is larger than 10 MB.
    """
    if sys.stdin is None:
        raise UsageError(f"{what} comes from standard input, which is closed")
    data = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{what} is larger than 10 MB", where="standard input")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8", where="standard input") from None
    return checked(text.removesuffix("\n").removesuffix("\r"), what)


def checked(text: str, what: str) -> str:
    """Return a text that can be stored.

    Raises:
        UsageError: it holds NUL, or came as bytes that are not UTF-8.
    """
    if "\0" in text:
        raise UsageError(f"{what} holds NUL characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} is not UTF-8") from None
    return text
