"""The inspector's tabs on one line."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from playground.safe import Cell, safe_strip
from playground.state.block import Tone
from playground.state.document import Tab
from playground.widgets.toned import Toned

_GAP = 2


class TabStrip(Toned):
    """All tabs; those without content are dim, and give way first where it is narrow."""

    present: reactive[frozenset[Tab]] = reactive(frozenset[Tab](), init=False)
    active: reactive[Tab | None] = reactive(None, init=False)

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, tab: Tab) -> None:
            super().__init__()
            self.tab = tab

    def step(self, by: int) -> Tab | None:
        """Return the next tab with content in a direction, around the end."""
        order = [tab for tab in Tab if tab in self.present]
        if not order:
            return None
        if self.active not in order:
            return order[0]
        return order[(order.index(self.active) + by) % len(order)]

    def _places(self) -> list[tuple[Tab, int, int]]:
        """Return the tabs that fit and their columns, start and end."""
        shown = [*Tab]
        while sum(len(tab) + _GAP for tab in shown) - _GAP > self.size.width:
            spare = [tab for tab in shown if tab not in self.present]
            spare = spare or [tab for tab in shown if tab is not self.active]
            if not spare:
                break
            shown.remove(spare[-1])
        places, column = [], 0
        for tab in shown:
            places.append((tab, column, column + len(tab)))
            column += len(tab) + _GAP
        return places

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        cells = [
            Cell(
                tab.value,
                self.tone(
                    Tone.ACCENT
                    if tab is self.active
                    else Tone.PLAIN
                    if tab in self.present
                    else Tone.FAINT
                ),
            )
            for tab, _, _ in self._places()
        ]
        return safe_strip(cells, self.size.width, gap=_GAP).apply_style(self.rich_style)

    def on_click(self, event: events.Click) -> None:
        """Pick the tab under the mouse."""
        for tab, start, end in self._places():
            if start <= event.x < end + 1 and tab in self.present:
                self.post_message(self.Picked(tab))
