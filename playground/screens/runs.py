"""All runs of the store: attach to one, or stop it."""

from __future__ import annotations

from typing import ClassVar, Protocol

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer

from core import Clock
from core.errors import StepbrakeError
from core.model import CancelLevel, CancelReceipt, RunRow
from playground.safe import SafeStatic, safe_notify, safe_title
from playground.state import runs as state
from playground.state.cancel import CancelLadder
from playground.state.runs import PAGE_RUNS, RunList
from playground.widgets.column_heads import ColumnHeads
from playground.widgets.key_bar import KeyBar
from playground.widgets.runs_table import RunsTable
from playground.widgets.title_bar import TitleBar
from playground.widgets.virtual_list import VirtualList

_REFRESH_SECONDS = 0.5
_IDLE_TICKS = 4


class RunsSource(Protocol):
    """What the screen asks of the runtime."""

    @property
    def live(self) -> tuple[str, ...]:
        """Return the ids of the runs this process drives."""

    async def runs(self, *, limit: int = 100, before: str | None = None) -> list[RunRow]:
        """Return runs, newest first."""

    async def cancel(
        self,
        run_id: str,
        level: CancelLevel = CancelLevel.BOUNDARY,
        *,
        by: str | None = None,
        reason: str = "",
    ) -> CancelReceipt:
        """Stop a run."""


class RunsScreen(Screen[None]):
    """The list, kept up to date while it is on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "cancel", "Cancel"),
        Binding("escape", "leave", "Back", show=False),
    ]

    class AttachRun(Message):
        """The reader wants to watch a run."""

        def __init__(self, run_id: str) -> None:
            super().__init__()
            self.run_id = run_id

    def __init__(self, source: RunsSource, clock: Clock) -> None:
        super().__init__()
        self._source = source
        self._clock = clock
        self._runs = RunList()
        self._ladders: dict[str, CancelLadder] = {}
        self._timer: Timer | None = None
        self._ticks = 0
        self._reading = False
        self._older = False
        self._again = False
        self._said = ("", "")
        self._live = False
        self.table = RunsTable(id="runs")
        self.heads = ColumnHeads(gap=2)
        self.panel = Vertical(id="runs-panel")
        self._bar = TitleBar("runs")

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield self._bar
        with self.panel:
            yield self.heads
            yield self.table
            yield SafeStatic(
                ("No run yet.\n", "bold"),
                "F2, a prompt and Enter run an agent; F8 cancels. It stays listed here.",
                id="runs-empty",
            )
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin to keep up."""
        self._timer = self.set_interval(_REFRESH_SECONDS, self._tick)
        self.table.focus()
        self.refresh_runs()

    def on_screen_suspend(self) -> None:
        """Rest while nobody looks."""
        if self._timer is not None:
            self._timer.pause()

    def on_screen_resume(self) -> None:
        """Catch up."""
        if self._timer is not None:
            self._timer.resume()
        self.refresh_runs()

    def ladder(self, run_id: str) -> CancelLadder:
        """Return where a run stands between its first cancel and its abort."""
        return self._ladders.get(run_id, CancelLadder())

    # Reading ------------------------------------------------------------------------

    def _tick(self) -> None:
        self._ticks += 1
        if any(state.live(row) for row in self._runs.rows) or self._ticks % _IDLE_TICKS == 0:
            self.refresh_runs()

    def refresh_runs(self) -> None:
        """Read the newest runs, and those in view, as they are now."""
        self._again = True
        self._read()

    @on(RunsTable.Wanted)
    def _want(self) -> None:
        self._older = True
        self._read()

    def _read(self) -> None:
        if not self._reading:
            self._reading = True
            self.run_worker(self._keep_up(), group="runs-read")

    async def _keep_up(self) -> None:
        try:
            while self._again or self._older:
                if self._again:
                    self._again = False
                    await self._page(None)
                    await self._page_in_view()
                elif self._runs.complete:
                    self._older = False
                else:
                    self._older = False
                    await self._page(self._runs.rows[-1].run_id if self._runs.rows else None)
        except StepbrakeError as error:
            self._said = (f"runs · {error.what}", "")
            safe_title(self.panel, *self._said)
        finally:
            self._reading = False

    async def _page(self, before: str | None) -> None:
        page = await self._source.runs(limit=PAGE_RUNS, before=before)
        self._runs = self._runs.merged(page, before, PAGE_RUNS)
        self._show()

    async def _page_in_view(self) -> None:
        top = self.table.window[0]
        if PAGE_RUNS <= top < len(self._runs.rows):
            await self._page(self._runs.rows[top - 1].run_id)

    def _show(self) -> None:
        self._bar.show(len(self._source.live))
        self.table.show(self._runs, self._source.live, self._clock.now_us())
        self.add_class("-read")
        self.set_class(self._runs.complete and not self._runs.rows, "-empty")
        for row in self._runs.rows:
            if row.cancelling and row.level is not None:
                self._ladders[row.run_id] = self.ladder(row.run_id).requested(row.level)
        self._titles()
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        """Note what can be read on the screen now: a press can raise it from here on."""
        now = self._clock.monotonic()
        shown = {row.run_id for row in self._runs.rows if row.cancelling}
        self._ladders = {
            run_id: ladder.painted(now) if run_id in shown else ladder
            for run_id, ladder in self._ladders.items()
        }

    def _titles(self) -> None:
        row = self.table.current
        live = row is not None and state.live(row)
        if live != self._live:
            self._live = live
            self.refresh_bindings()
        again = row is not None and live and self.ladder(row.run_id).level is CancelLevel.BOUNDARY
        hint = "press c again to abort the step in flight" if again else ""
        said = (state.title(self._runs), hint)
        if said != self._said:
            self._said = said
            safe_title(self.panel, *said)

    def on_resize(self, event: events.Resize) -> None:
        """Choose the columns that fit."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        columns = state.columns(self.table.scrollable_content_region.width)
        self.table.columns = self.heads.columns = columns
        self.table.refresh_rows()

    # Acting -------------------------------------------------------------------------

    @on(VirtualList.Highlighted)
    def _moved(self) -> None:
        self._titles()

    @on(VirtualList.Selected)
    def action_attach(self) -> None:
        """Watch the run with the cursor."""
        row = self.table.current
        if row is not None:
            self.post_message(self.AttachRun(row.run_id))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to cancel only a run that is live."""
        if action == "cancel":
            row = self.table.current
            return row is not None and state.live(row)
        return super().check_action(action, parameters)

    def action_leave(self) -> None:
        """Go back to the run screen; nothing is cancelled from a list by leaving it."""
        self.app.call_later(self.app.run_action, "go('run')")

    def action_cancel(self) -> None:
        """Stop the run with the cursor; pressed again once that shows, abort it."""
        row = self.table.current
        if row is None or not state.live(row):
            return
        ladder, level = self.ladder(row.run_id).press(self._clock.monotonic())
        self._ladders[row.run_id] = ladder
        if level is not None:
            self.run_worker(self._cancel(row.run_id, level), group="runs-cancel")

    def _stands(self, run_id: str) -> CancelLevel | None:
        place = self._runs.index(run_id)
        row = None if place is None else self._runs.rows[place]
        return row.level if row is not None and row.cancelling else None

    async def _cancel(self, run_id: str, level: CancelLevel) -> None:
        try:
            await self._source.cancel(run_id, level)
        except StepbrakeError as error:
            self._ladders[run_id] = self.ladder(run_id).refused(self._stands(run_id))
            safe_notify(self.app, error.what, title=error.title, severity="error")
        self.refresh_runs()
