"""The inspector: one row of the run from every side."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical

from playground.safe import SafeStatic, safe_title
from playground.state.document import Tab, document, pick_tab, tabs
from playground.state.run import RunView
from playground.state.steps import RowKind, StepView
from playground.widgets.tab_strip import TabStrip
from playground.widgets.text_view import TextView


class Inspector(Vertical):
    """Tabs over one text view. A tab that was chosen by hand stays while it has content."""

    def __init__(self) -> None:
        super().__init__(id="inspector", classes="-empty")
        self._view: RunView | None = None
        self._row: StepView | None = None
        self._wanted: Tab | None = None

    def compose(self) -> ComposeResult:
        """Lay out the inspector."""
        yield TabStrip(id="inspector-tabs")
        yield TextView(id="inspector-text")
        yield SafeStatic("Nothing to look at yet.", id="inspector-empty")

    def on_mount(self) -> None:
        """Say what this is."""
        safe_title(self, _title(None))

    @property
    def strip(self) -> TabStrip:
        """Return the tabs."""
        return self.query_one(TabStrip)

    @property
    def body(self) -> TextView:
        """Return the text."""
        return self.query_one(TextView)

    def show(self, view: RunView | None, row: StepView | None) -> None:
        """Show a row, or the same row as it is now."""
        if row is not self._row:
            self._view, self._row = view, row
            safe_title(self, _title(row))
            self.set_class(row is None, "-empty")
        self.refresh_row()

    def pick(self, tab: Tab | None) -> None:
        """Show another tab."""
        if tab is not None:
            self._wanted = tab
            self.refresh_row()

    @on(TabStrip.Picked)
    def _picked(self, event: TabStrip.Picked) -> None:
        self.pick(event.tab)

    def refresh_row(self) -> None:
        """Show the same row as it is now."""
        row, view = self._row, self._view
        if row is None or view is None:
            return
        present = tabs(row)
        tab = pick_tab(row, self._wanted)
        self.strip.present = present
        self.strip.active = tab
        if tab is None:
            self.body.show(None, ())
            return
        self._show(view, row, tab)

    def _show(self, view: RunView, row: StepView, tab: Tab) -> None:
        body = self.body
        # A new event may replace the text behind a tab; pieces of it only grow it.
        place = (id(row), tab)
        version = (place, id(row.event))
        if body.key == version:
            body.grow()
        else:
            keep = isinstance(body.key, tuple) and body.key[0] == place
            body.show(version, document(view, row, tab), keep=keep, end=row.live)


def _title(row: StepView | None) -> str:
    if row is None:
        return "inspector"
    about = f" · {row.name}" if row.name and row.kind in {RowKind.MODEL, RowKind.TOOL} else ""
    place = f" · round {row.round}" if row.round else ""
    return f"{row.kind.value}{about}{place}"
