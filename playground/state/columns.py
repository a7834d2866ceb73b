"""Columns of the line-drawn tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: its heading.
        width: cells; a growing column takes what is left of the line instead.
        grow: whether it grows (one of a table at most).
        right: whether it is aligned to the right.
    """

    name: str
    width: int = 0
    grow: bool = False
    right: bool = False
