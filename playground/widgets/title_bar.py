"""The top line of every screen: where one is, and what is live."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.strip import Strip

from playground.safe import Cell, safe_strip
from playground.state.block import Tone
from playground.state.format import plural
from playground.widgets.toned import Toned

_PLACES = (("run", "Run", "F2"), ("audit", "Audit", "F3"), ("runs", "Runs", "F4"))


class TitleBar(Toned):
    """Name, the three screens (a click goes there), and how many runs are live.

    Args:
        here: the screen it stands on: ``run``, ``audit`` or ``runs``.
    """

    def __init__(self, here: str) -> None:
        super().__init__()
        self._here = here
        self._live = 0
        self._places: list[tuple[str, int, int]] = []

    def show(self, live: int) -> None:
        """Say how many runs this process drives."""
        if live != self._live:
            self._live = live
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.size.width
        cells = [Cell("stepbrake", self.tone(Tone.TITLE))]
        column = len("stepbrake") + 2
        self._places = []
        for mode, title, key in _PLACES:
            here = mode == self._here
            text = f"{title} {key}"
            self._places.append((mode, column, column + len(text)))
            cells.append(Cell(text, self.tone(Tone.ACCENT if here else Tone.DIM)))
            column += len(text) + 2
        live = f"● {plural(self._live, 'run')} live" if self._live else ""
        if column + cell_len(live) <= width:
            cells.append(Cell("", grow=True))
            cells.append(Cell(live, self.tone(Tone.ACCENT)))
        return safe_strip(cells, width, gap=2).apply_style(self.rich_style)

    def on_click(self, event: events.Click) -> None:
        """Go to the screen under the mouse."""
        for mode, start, end in self._places:
            if start <= event.x - self.styles.padding.left < end:
                self.app.switch_mode(mode)
