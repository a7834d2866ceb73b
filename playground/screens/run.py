"""The run screen: a prompt goes in, every step comes out, and Cancel stops it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Button

from core import Clock
from core.errors import StepbrakeError
from playground.adapter import RunSession
from playground.commands import RUN, bindings
from playground.safe import safe_notify, safe_title
from playground.state.form import FormError, build_request, form_of
from playground.state.run import RunView
from playground.state.summary import summary
from playground.widgets.audit_pane import AuditPane
from playground.widgets.cancel_button import CancelButton
from playground.widgets.form import Form
from playground.widgets.inspector import Inspector
from playground.widgets.key_bar import KeyBar
from playground.widgets.prompt_area import PromptArea
from playground.widgets.step_list import StepList
from playground.widgets.summary import Strips
from playground.widgets.title_bar import TitleBar
from playground.widgets.virtual_list import VirtualList

if TYPE_CHECKING:
    from core import Runtime

_TICK_SECONDS = 0.25
_NOTICE_SECONDS = 10.0


class RunScreen(Screen[None]):
    """Shows one run at a time; runs live in the core, this screen only looks at them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(RUN)
    AUTO_FOCUS = "#prompt"

    def __init__(self, runtime: Runtime, clock: Clock) -> None:
        super().__init__(classes="-empty")
        self._runtime = runtime
        self._clock = clock
        self._session: RunSession | None = None
        self._timer: Timer | None = None
        self._wanted: str | None = None

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield TitleBar("run")
        yield Form(self._runtime.models(), self._runtime.tools())
        yield Strips(id="summary")
        with Container(id="body"):
            yield StepList(id="steps")
            yield Inspector()
        yield KeyBar()

    def on_mount(self) -> None:
        """Show that there is no run yet."""
        self._timer = self.set_interval(_TICK_SECONDS, self._tick, pause=True)
        self._show_all()
        for notice in self._runtime.notices:
            safe_notify(self.app, notice, severity="warning", timeout=_NOTICE_SECONDS)

    async def on_unmount(self) -> None:
        """Let go of the run."""
        if self._session is not None:
            await self._session.close()

    @property
    def view(self) -> RunView | None:
        """Return the state behind the screen, None before the first run."""
        return None if self._session is None else self._session.view

    @property
    def session(self) -> RunSession | None:
        """Return the run on the screen."""
        return self._session

    @property
    def steps(self) -> StepList:
        """Return the step list."""
        return self.query_one(StepList)

    @property
    def form(self) -> Form:
        """Return the form."""
        return self.query_one(Form)

    def attach(self, run_id: str, step: str | None = None) -> None:
        """Watch a run that is there already, at one of its steps if it has that step."""
        if self.view is None or self.view.run_id != run_id:
            self._open().attach(run_id)
            self._show_all()
            self.steps.focus()
        self.set_class(False, "-options")
        self._wanted = step
        self._find_step()

    def _find_step(self) -> None:
        row = self.view.row_of(self._wanted) if self.view and self._wanted else None
        if row is not None:
            self._wanted = None
            self.steps.go_to(row)
            self.steps.focus()

    # What comes from the run ----------------------------------------------------------

    def _open(self) -> RunSession:
        if self._session is not None:
            self.run_worker(self._session.close(), group="close", exit_on_error=False)
        session = RunSession(
            self._runtime,
            self._clock,
            changed=self._changed,
            grown=self._grown,
            complain=self._complain,
        )
        self._session, self._wanted = session, None
        return session

    def _changed(self, session: RunSession, rows: set[int]) -> None:
        if session is not self._session:
            return
        if session.watching and session.view.request:
            session.watching = False
            self.form.show(form_of(session.view.request))
        self.steps.update_rows(rows, self._clock.now_us())
        self._find_step()
        self._show_run()
        if session.ladder.level is not None and session.ladder.shown_at is None:
            self.call_after_refresh(session.painted)

    def _grown(self, session: RunSession, rows: set[int]) -> None:
        # Only the text that is being read keeps up at once; the list and the strip follow
        # with the next tick, or each piece would have most of the screen drawn anew.
        if session is self._session and self.steps.selected in rows:
            self.query_one(Inspector).refresh_row()

    def _complain(self, session: RunSession, error: Exception) -> None:
        what = error.what if isinstance(error, StepbrakeError) else type(error).__name__
        hint = error.hint if isinstance(error, StepbrakeError) else ""
        title = error.title if isinstance(error, StepbrakeError) else "Unexpected error"
        safe_notify(self.app, f"{what}\n{hint}".rstrip(), title=title, severity="error", timeout=10)
        if session is self._session and not session.view.run_id:
            self._session = None
            self._show_all()
            self.form.prompt.focus()

    def _tick(self) -> None:
        now = self._clock.now_us()
        self.steps.tick(now)
        self._show_line(now)
        at_work = len(self._runtime.live)
        self.query_one(TitleBar).show(at_work)
        if self._timer is not None and not at_work and not self.has_class("-live"):
            self._timer.pause()

    def _show_all(self) -> None:
        self.steps.show(self.view, self._clock.now_us())
        self._show_run()

    def _show_run(self) -> None:
        view = self.view
        live = view is not None and view.phase.live
        self.set_class(view is None, "-empty")
        if live != self.has_class("-live"):
            self.set_class(live, "-live")
            self.refresh_bindings()
            self.form.live = live
        if self._timer is not None and live:
            self._timer.resume()
        self._show_line(self._clock.now_us())
        self._show_row()

    def _show_line(self, now_us: int) -> None:
        stored = self._runtime.audit.available
        self.query_one("#summary", Strips).show(summary(self.view, now_us, stored=stored))
        self.query_one(CancelButton).show(self.view, now_us)

    def _show_row(self) -> None:
        view, index = self.view, self.steps.selected
        row = view.rows[index] if view is not None and 0 <= index < len(view.rows) else None
        self.query_one(Inspector).show(view, row)
        rows = len(view.rows) if view is not None else 0
        following = view is not None and view.phase.live and self.steps.follow
        safe_title(
            self.steps,
            f"steps · {rows}" if rows else "steps",
            "following" if following else "",
        )

    # What comes from the person -------------------------------------------------------

    @on(PromptArea.Submitted)
    @on(Button.Pressed, "#run")
    def action_start(self) -> None:
        """Run what the form says."""
        if self.view is not None and self.view.phase.live:
            return
        try:
            request = build_request(self.form.data)
        except FormError as error:
            self.form.complain(error)
            return
        self.set_class(False, "-options")
        self._open().start(request)
        self._show_all()
        self.steps.focus()

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Stop the run; pressed again once that shows, abort it."""
        if self._session is not None:
            self._session.press()

    @on(Button.Pressed, "#options-button")
    async def action_options(self) -> None:
        """Show or hide the options."""
        await self.form.open_options(not self.has_class("-options"))

    async def action_new(self) -> None:
        """Go back to the prompt; a live run goes on without being watched."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()
            self._show_all()
        self.form.prompt.focus()

    def action_tab(self, by: int) -> None:
        """Go to the next tab of the inspector that has content."""
        inspector = self.query_one(Inspector)
        inspector.pick(inspector.strip.step(by))

    def action_zoom(self) -> None:
        """Show the inspector alone, or everything again."""
        self.toggle_class("-zoom")
        (self.query_one(Inspector).body if self.has_class("-zoom") else self.steps).focus()

    def action_copy(self) -> None:
        """Copy the whole text of the inspector's tab."""
        text = self.query_one(Inspector).body.text
        if text:
            self.app.copy_to_clipboard(text)
            safe_notify(self.app, f"{len(text)} characters copied", timeout=2)

    async def action_audit_pane(self) -> None:
        """Show or hide the audit log beside the run."""
        panes = self.query(AuditPane)
        if panes:
            within = any(pane.has_focus_within for pane in panes)
            await panes.remove()
            if within:
                self.steps.focus()
        else:
            pane = AuditPane(self._runtime.audit)
            await self.query_one("#body").mount(pane, before=self.query_one(Inspector))
            pane.focus()
        self.set_class(not panes, "-audit")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what can be done now."""
        live = self.view is not None and self.view.phase.live
        if action in {"start", "options"}:
            return not live
        if action == "new":
            return self.view is not None
        return True

    @on(PromptArea.Left)
    def _leave_form(self) -> None:
        self.steps.focus()

    @on(VirtualList.Highlighted, "#steps")
    def _moved(self) -> None:
        self._show_row()

    @on(VirtualList.Selected, "#steps")
    def _look_inside(self) -> None:
        if self.has_class("-narrow"):
            self.add_class("-zoom")
        self.query_one(Inspector).body.focus()
