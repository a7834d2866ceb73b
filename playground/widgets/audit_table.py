"""The rows of the audit log, drawn from what is in memory."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from core.model import AuditRow
from playground.safe import Cell, safe_strip
from playground.state.audit import cell
from playground.state.audit_pages import AuditPages
from playground.state.audit_words import TONES, went_wrong
from playground.state.block import Tone
from playground.state.columns import Column
from playground.widgets.column_heads import column_cells
from playground.widgets.toned import Toned
from playground.widgets.virtual_list import VirtualList

_QUIET = dict.fromkeys(("utc", "method", "credential", "run"), Tone.DIM)
_LOUD = frozenset({Tone.WARN, Tone.BAD})


class AuditTable(VirtualList, Toned):
    """The log, newest first. It draws what it is given and says what it lacks.

    A row that is not in memory yet is an ellipsis; a seq that the log has lost is named.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "Detail")]

    class Wanted(Message):
        """Rows came into view that are not in memory."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.pages = AuditPages(dense=True)
        self.columns: tuple[Column, ...] = ()
        self._bad: Collection[int] = ()

    @property
    def window(self) -> tuple[int, int]:
        """Return the first and last index in view."""
        top = round(self.scroll_y)
        return top, min(top + max(1, self.size.height), self.row_count) - 1

    @property
    def at_top(self) -> bool:
        """Return whether the newest row has the cursor and is in view."""
        return self.selected <= 0 and round(self.scroll_y) == 0

    @property
    def current(self) -> AuditRow | None:
        """Return the row with the cursor, None if it is not in memory."""
        return self.pages.row(self.selected) if self.selected >= 0 else None

    def show(self, pages: AuditPages) -> None:
        """Show another query from its newest row on."""
        self.pages = pages
        self.row_count = len(pages)
        self.selected = 0
        self.scroll_to(y=0, animate=False)
        self.refresh_rows()

    def grew(self, added: int, *, follow: bool) -> None:
        """Take rows that were added at the top.

        Args:
            added: how many.
            follow: stay on the newest row; else whatever is in view stays where it is.
        """
        top, selected = round(self.scroll_y), self.selected
        self.row_count = len(self.pages)
        if not follow and selected >= 0:
            self.scroll_to(y=top + added, animate=False)
            self.selected = selected + added
        self.refresh_rows()

    def mark(self, bad: Collection[int]) -> None:
        """Mark rows by their seq as not what was written."""
        self._bad = bad
        self.refresh_rows()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for what came into view."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Wanted())

    def on_resize(self) -> None:
        """Ask for what came into view."""
        super().on_resize()
        self.post_message(self.Wanted())

    def render_row(self, index: int, width: int, selected: bool) -> Strip:
        """Draw one row."""
        row = self.pages.row(index)
        if row is None:
            return safe_strip([self._absent(index)], width)
        badge = self._tone_of(row)
        tones = {"": badge, "action": badge if badge in _LOUD else Tone.PLAIN} | _QUIET
        texts = [
            (cell(row, column), self.tone(tones.get(column.name, Tone.PLAIN)))
            for column in self.columns
        ]
        return safe_strip(column_cells(self.columns, texts), width)

    def _absent(self, index: int) -> Cell:
        if not self.pages.loaded(index):
            return Cell("  …", self.tone(Tone.DIM), grow=True)
        name = f"seq {self.row_count - index}" if self.pages.dense else "this row"
        return Cell(f"✗ {name} is missing or cannot be read", self.tone(Tone.BAD), grow=True)

    def _tone_of(self, row: AuditRow) -> Tone:
        bad = row.seq in self._bad or went_wrong(row)
        return Tone.BAD if bad else TONES[row.action.badge]
