"""The list of runs, one line each."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from core.model import RunRow
from playground.safe import Cell, safe_strip
from playground.state import runs as state
from playground.state.audit import short_id
from playground.state.block import Tone
from playground.state.columns import Column
from playground.state.runs import RunList
from playground.widgets.column_heads import column_cells
from playground.widgets.toned import Toned
from playground.widgets.virtual_list import VirtualList

_QUIET = frozenset({"run", "owner", "age"})


class RunsTable(VirtualList, Toned):
    """All runs, newest first. The cursor stays on its run whatever comes above it.

    Below the runs that were read stands a line for the older ones; seeing it reads them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "Attach")]

    class Wanted(Message):
        """Older runs came into view that were not read yet."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.runs = RunList()
        self.columns: tuple[Column, ...] = ()
        self._here: Collection[str] = ()
        self._now_us = 0

    @property
    def current(self) -> RunRow | None:
        """Return the run with the cursor."""
        rows = self.runs.rows
        return rows[self.selected] if 0 <= self.selected < len(rows) else None

    @property
    def window(self) -> tuple[int, int]:
        """Return the first and last index in view."""
        top = round(self.scroll_y)
        return top, min(top + max(1, self.size.height), self.row_count) - 1

    def show(self, runs: RunList, here: Collection[str], now_us: int) -> None:
        """Show the runs as they are now.

        Args:
            runs: all that was read.
            here: ids of the runs this process drives.
            now_us: UTC microseconds, for ages.
        """
        held, top = self.current, round(self.scroll_y)
        before = self.selected
        self.runs, self._here, self._now_us = runs, here, now_us
        self.row_count = len(runs.rows) + (0 if runs.complete else 1)
        place = runs.index(held.run_id) if held else None
        if place is not None and place != before:
            if top:
                self.scroll_to(y=top + place - before, animate=False)
            self.selected = place
        self.refresh_rows()
        self._want()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for older runs when they come into view."""
        super().watch_scroll_y(old_value, new_value)
        self._want()

    def on_resize(self) -> None:
        """Choose the columns that fit."""
        super().on_resize()
        self._want()

    def _want(self) -> None:
        if not self.runs.complete and self.window[1] >= len(self.runs.rows):
            self.post_message(self.Wanted())

    def render_row(self, index: int, width: int, selected: bool) -> Strip:
        """Draw one run."""
        if index >= len(self.runs.rows):
            return safe_strip([Cell("  … older runs", self.tone(Tone.DIM), grow=True)], width)
        row = self.runs.rows[index]
        word, tone = state.phase(row)
        texts = {
            "run": short_id(row.run_id),
            "status": word,
            "model": row.model,
            "prompt": row.prompt,
            "step": state.doing(row),
            "tokens": state.tokens(row),
            "owner": state.owner(row, self._here),
            "age": state.age(row, self._now_us),
        }
        styled = []
        for column in self.columns:
            how = tone if column.name == "status" else Tone.PLAIN
            styled.append(
                (texts[column.name], self.tone(Tone.DIM if column.name in _QUIET else how))
            )
        return safe_strip(column_cells(self.columns, styled), width, gap=2)
