"""Text with a meaning, before it has a colour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from playground.state.stream import StreamText

_LABEL = 16


class Tone(StrEnum):
    """How a text is meant; a widget maps it to the theme's colours."""

    PLAIN = "plain"
    DIM = "dim"
    FAINT = "faint"
    ACCENT = "accent"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    TITLE = "title"


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of text in one tone.

    Attributes:
        text: the text; a stream grows.
        tone: how it is meant.
        hang: columns by which the rows that wrapping adds are indented.
    """

    text: str | StreamText
    tone: Tone = Tone.PLAIN
    hang: int = 0


def fact(label: str, value: str, tone: Tone = Tone.PLAIN) -> Iterator[Block]:
    """Return one labelled line."""
    yield Block(label.ljust(_LABEL), Tone.DIM)
    yield Block(value + "\n", tone, hang=_LABEL)
