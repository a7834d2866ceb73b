"""The headings above a line-drawn table."""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from playground.safe import Cell, safe_strip
from playground.state.columns import Column


class ColumnHeads(Widget):
    """One line that names the columns below it.

    Args:
        gap: cells between two columns.

    Attributes:
        columns: the columns, as the table under it has them.
    """

    DEFAULT_CSS = """
    ColumnHeads { height: 1; color: $text-muted; &:ansi { text-style: dim; } }
    """

    columns: reactive[tuple[Column, ...]] = reactive(())

    def __init__(self, *, gap: int = 1) -> None:
        super().__init__()
        self._gap = gap

    def render_line(self, y: int) -> Strip:
        """Draw the line; Textual calls this."""
        cells = column_cells(self.columns, ((column.name, None) for column in self.columns))
        strip = safe_strip(cells, self.content_size.width, self._gap)
        return strip.apply_style(self.rich_style).adjust_cell_length(
            self.size.width, self.rich_style
        )


def column_cells(
    columns: Iterable[Column], texts: Iterable[tuple[str, Style | None]]
) -> list[Cell]:
    """Return one text and style per column, laid out as the columns say."""
    return [
        Cell(
            text,
            style,
            width=None if column.grow else column.width,
            right=column.right,
            grow=column.grow,
        )
        for column, (text, style) in zip(columns, texts, strict=True)
    ]
