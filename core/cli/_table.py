"""Columns of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from core.text import line


def columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return one row; a cell that is too wide pushes the rest, and none is cut.

    The last column needs no width.
    """
    padded = [line(cell).ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return "  ".join([*padded, *(line(cell) for cell in cells[len(widths) :])]).rstrip()


def moment(iso: str) -> str:
    """Return an event's ``at`` to the second: ``2026-01-31 12:00:00Z``."""
    return f"{iso[:10]} {iso[11:19]}Z"
