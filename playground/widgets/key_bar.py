"""The last line of every screen: the keys that do something now."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.screen import Screen
from textual.strip import Strip

from playground.safe import Cell, safe_strip
from playground.state.block import Tone
from playground.widgets.toned import Toned

_LAST = {"app.help": 1, "app.palette": 2, "app.quit": 3}
_FIRST = {"app.cancel": -2, "run.start": -1}
_ORDER = _FIRST | _LAST
_MUST = frozenset(_ORDER)


class KeyBar(Toned):
    """Keys and what they do, the most urgent first; a click does the same.

    Where it is narrow, the screen's own keys give way before cancel, help and quit.
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: list[tuple[Binding, int, int]] = []

    def on_mount(self) -> None:
        """Keep up with the keys."""
        self.screen.bindings_updated_signal.subscribe(self, self._updated)

    def on_unmount(self) -> None:
        """Let go of the screen."""
        self.screen.bindings_updated_signal.unsubscribe(self)

    def _updated(self, screen: Screen[object]) -> None:
        self.refresh()

    def items(self) -> list[tuple[str, str]]:
        """Return what it says: keys and labels."""
        return [(self._key(binding), binding.description) for binding in self._shown()]

    def _shown(self) -> list[Binding]:
        found: dict[str, Binding] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.show and active.enabled:
                found.setdefault(binding.action, binding)
        return sorted(found.values(), key=lambda binding: _ORDER.get(binding.id or "", 0))

    def _key(self, binding: Binding) -> str:
        return self.app.get_key_display(binding)

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.size.width
        shown = self._shown()
        sizes = {
            binding: cell_len(self._key(binding)) + cell_len(binding.description) + 3
            for binding in shown
        }
        spare = [binding for binding in shown if (binding.id or "") not in _MUST]
        while spare and sum(sizes[binding] for binding in shown) > width + 2:
            shown.remove(spare.pop())
        cells: list[Cell] = []
        column = 0
        self._places = []
        for binding in shown:
            gap = "  " if cells else ""
            cells.append(Cell(gap + self._key(binding), self.tone(Tone.ACCENT)))
            cells.append(Cell(" " + binding.description, self.tone(Tone.DIM)))
            self._places.append((binding, column, column + sizes[binding]))
            column += sizes[binding]
        return safe_strip(cells, width, gap=0).apply_style(self.rich_style)

    async def on_click(self, event: events.Click) -> None:
        """Do what the key under the mouse does."""
        for binding, start, end in self._places:
            if start <= event.x - self.styles.padding.left < end:
                self.app.simulate_key(binding.key)
                return
