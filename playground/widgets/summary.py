"""The summary strip: one line that says how the run is going."""

from __future__ import annotations

from rich.cells import cell_len
from textual.strip import Strip

from playground.safe import Cell, safe_strip
from playground.state.block import Tone
from playground.state.summary import Piece
from playground.widgets.toned import Toned

_GAP = "  "


class Strips(Toned):
    """A line of pieces; the last ones give way where there is no room."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._pieces: list[Piece] = []

    @property
    def text(self) -> str:
        """Return what it says, whole."""
        return _GAP.join(text for text, _ in self._pieces)

    def show(self, pieces: list[Piece]) -> None:
        """Say something else."""
        if pieces != self._pieces:
            self._pieces = pieces
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.size.width
        cells: list[Cell] = []
        room = width
        for text, tone in self._pieces:
            size = cell_len(text) + (len(_GAP) if cells else 0)
            if size > room and cells:
                break
            if cells:
                cells.append(Cell(_GAP, self.tone(Tone.DIM)))
            cells.append(Cell(text, self.tone(tone)))
            room -= size
        return safe_strip(cells, width, gap=0).apply_style(self.rich_style)
