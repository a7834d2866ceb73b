"""Cutting long text, with exact counts of what was kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ZWJ = "\u200d"
# What belongs to the character before it: combining marks, variation selectors,
# keycaps, skin tones, tags.
_ATTACHED = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
)
_LONGEST_CLUSTER = 32


@dataclass(frozen=True, slots=True)
class Clipped:
    """The head of a text.

    Attributes:
        text: what was kept.
        kept: its length in characters.
        total: the whole text's length in characters.
    """

    text: str
    kept: int
    total: int


def clip(text: str, limit: int) -> Clipped:
    """Keep at most ``limit`` characters from the start.

    What a reader sees as one character is not cut in two (a surrogate pair, CR LF, a
    base with its marks, an emoji sequence), unless it is longer than 32 characters.

    Raises:
        ValueError: ``limit`` is negative.
    """
    if limit < 0:
        raise ValueError("limit must not be negative")
    total = len(text)
    if total <= limit:
        return Clipped(text, total, total)
    end = limit
    while end > 0 and limit - end < _LONGEST_CLUSTER and _inside(text[end - 1], text[end]):
        end -= 1
    if end and _inside(text[end - 1], text[end]):
        end = limit
    return Clipped(text[:end], end, total)


def _inside(before: str, after: str) -> bool:
    """Return whether a cut between two neighbours would split a character."""
    return (
        before == _ZWJ
        or _ATTACHED.match(after) is not None
        or (before == "\r" and after == "\n")
        or (_surrogate(before, "\ud800", "\udbff") and _surrogate(after, "\udc00", "\udfff"))
    )


def _surrogate(char: str, low: str, high: str) -> bool:
    return low <= char <= high
