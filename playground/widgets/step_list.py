"""The step list: one line for each thing that happened, the live ones moving."""

from __future__ import annotations

from textual.strip import Strip

from playground.safe import Cell, safe_strip
from playground.state.block import Tone
from playground.state.format import duration, elapsed, short_count
from playground.state.gist import gist, glyph
from playground.state.run import RunView
from playground.state.steps import RowKind, StepView
from playground.widgets.toned import Toned
from playground.widgets.virtual_list import VirtualList

_NAMED = frozenset({RowKind.MODEL, RowKind.TOOL})
_WIDE = 72
_EMPTY = (
    ("Write a prompt and press Enter to run it.", Tone.TITLE),
    ("Cancel with the button, Ctrl+C, F8 or Esc;", Tone.DIM),
    ("pressed again, it aborts the call in flight.", Tone.DIM),
)


class StepList(VirtualList, Toned):
    """The rows of a run; follows its tail until the cursor is moved off it."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(follow=True, id=id)
        self._view: RunView | None = None
        self._now_us = 0

    def show(self, view: RunView | None, now_us: int) -> None:
        """Show another run, or none."""
        self._view, self._now_us = view, now_us
        self.follow = True
        self.row_count = 0 if view is None else len(view.rows)
        self.refresh_rows()

    def update_rows(self, changed: set[int], now_us: int) -> None:
        """Draw changed rows anew, and the ones whose time runs."""
        if self._view is None:
            return
        self._now_us = now_us
        rows = self._view.rows
        if len(rows) != self.row_count:
            self.row_count = len(rows)
        for index in changed:
            self.refresh_row(index)
        if self.follow:
            self.to_tail()

    def tail(self) -> int:
        """Return the last row that is at work, else the last row."""
        live = self._view.live_rows if self._view is not None else []
        return min(live[-1] if live else self.row_count, self.row_count - 1)

    def tick(self, now_us: int) -> None:
        """Draw the live rows anew."""
        if self._view is not None:
            self.update_rows(set(self._view.live_rows), now_us)

    def render_line(self, y: int) -> Strip:
        """Draw one line; an empty list says how to fill it."""
        if self._view is not None or y >= len(_EMPTY):
            return super().render_line(y)
        text, tone = _EMPTY[y]
        width = self.scrollable_content_region.width
        cell = Cell(text, self.tone(tone), grow=True)
        return safe_strip([cell], width).apply_style(self.rich_style)

    def render_row(self, index: int, width: int, selected: bool) -> Strip:
        """Draw one row."""
        view = self._view
        if view is None or index >= len(view.rows):
            return Strip.blank(width)
        row = view.rows[index]
        sign, sign_tone = glyph(row)
        about = gist(row)
        quiet = self.tone(Tone.DIM)
        cells = [Cell(sign, self.tone(sign_tone), 1)]
        if width >= _WIDE:
            first = index == 0 or view.rows[index - 1].round != row.round
            number = str(row.round) if row.round and first else ""
            cells.insert(0, Cell(number, quiet, 3, right=True))
        if width >= _WIDE:
            cells.append(Cell(row.kind.value, quiet, 9))
            cells.append(Cell(_name(row), self.tone(Tone.PLAIN), 14))
        else:
            tone = Tone.PLAIN if row.kind in _NAMED else Tone.DIM
            label = _name(row) if row.kind is RowKind.TOOL else row.kind.value
            cells.append(Cell(label, self.tone(tone), 11))
        cells.append(Cell(about.text, self.tone(about.tone), grow=True, tail=about.tail))
        if width >= _WIDE:
            spent = row.usage.total_tokens if row.kind is RowKind.MODEL else 0
            if spent:
                cells.append(Cell(f"{short_count(spent)} tok", quiet, 9, right=True))
        took = (elapsed if row.live else duration)(row.elapsed_ms(self._now_us))
        if took:
            cells.append(Cell(took, quiet, 7, right=True))
        return safe_strip(cells, width)


def _name(row: StepView) -> str:
    if row.kind not in _NAMED:
        return ""
    return row.name if row.attempt == 1 else f"{row.name} ·{row.attempt}"
