"""The app: screens, keys, themes. What runs, and how it stops, is the core's business."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from textual import events
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from core import Clock, SystemClock
from playground.commands import APP, RUN, bindings
from playground.keys import KeyGuard, split_alt
from playground.safe import ControlFilter, safe_crash, safe_notify
from playground.widgets.toned import TONES

if TYPE_CHECKING:
    from core import Runtime
    from playground.screens.run import RunScreen
    from playground.screens.runs import RunsScreen
    from playground.widgets.audit_pane import AuditPane

STYLES = Path(__file__).parent / "styles"


@runtime_checkable
class Cancels(Protocol):
    """A screen that knows which run the cancel keys are for."""

    def action_cancel(self) -> object:
        """Take one press."""


class PlaygroundApp(App[None]):
    """The terminal app around a runtime that outlives it.

    Args:
        runtime: an open runtime; the app never closes it.
        clock: where "now" comes from; the machine's by default.
    """

    TITLE = "stepbrake"
    COMPONENT_CLASSES: ClassVar[set[str]] = TONES
    CSS_PATH = [*sorted(STYLES.glob("*.tcss"))]  # noqa: RUF012 - typed by the base class
    BINDINGS: ClassVar[list[BindingType]] = bindings(APP)
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - typed by the base class
        (0, "-narrow"),
        (72, "-normal"),
        (110, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (24, "-tall")]  # noqa: RUF012 - typed by the base class
    DEFAULT_MODE = "run"
    ESCAPE_TO_MINIMIZE = False

    def __init__(self, runtime: Runtime, clock: Clock | None = None) -> None:
        super().__init__()
        self.runtime = runtime
        self.clock: Clock = clock or SystemClock()
        self._guard = KeyGuard()
        self._run: RunScreen | None = None
        self.add_mode("run", self._run_screen)
        self.add_mode("audit", self._audit_screen)
        self.add_mode("runs", self._runs_screen)

    def _run_screen(self) -> Screen[None]:
        from playground.screens.run import RunScreen

        self._run = RunScreen(self.runtime, self.clock)
        return self._run

    def _audit_screen(self) -> Screen[None]:
        from playground.screens.audit import AuditScreen

        return AuditScreen(self.runtime)

    def _runs_screen(self) -> Screen[None]:
        from playground.screens.runs import RunsScreen

        return RunsScreen(self.runtime, self.clock)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Put the last gate before everything that is written to the terminal."""
        return [ControlFilter(), *super().get_line_filters()]

    def _fatal_error(self) -> None:
        # Textual's own would print local variables, and those may be secret.
        if self._exception is not None:
            self._exit_renderables.append(safe_crash(self._exception))
        self._close_messages_no_wait()

    @property
    def run_screen(self) -> RunScreen:
        """Return the run screen; it is the first one there is, and stays."""
        if self._run is None:
            raise RuntimeError("the run screen has not been made yet")
        return self._run

    @property
    def live(self) -> int:
        """Return how many runs would be stopped by leaving."""
        if self._run is None:
            return 0
        view = self._run.view
        starting = view is not None and view.phase.live and not view.run_id
        return len(self.runtime.live) + starting

    # Keys -----------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Sort out keys that nobody pressed before anything else sees them."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            if self._as_escape(event):
                return
            if self._guard.pasted(event) and not self._typing:
                return
        await super().on_event(event)

    @property
    def _typing(self) -> bool:
        """Return whether the focused widget takes text, for which a paste is welcome."""
        return self.focused is not None and self.focused.check_consume_key("a", "a")

    def _as_escape(self, event: events.Key) -> bool:
        both = split_alt(event)
        if both is None or not self._watching_live or event.key in self.active_bindings:
            return False
        for key in both:
            self.post_message(key)
        return True

    @property
    def _watching_live(self) -> bool:
        view = self._run.view if self._run is not None else None
        return self.live > 0 or (view is not None and view.phase.live)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to cancel only what is live; other screens know what is theirs."""
        if action == "cancel" and next(iter(self.screen_stack), None) is self._run:
            return self._watching_live
        if action == "field":
            # A field that completes names with Tab keeps it.
            own = self.focused._bindings.key_to_bindings if self.focused is not None else {}
            return not own.keys() & {"tab"}
        return super().check_action(action, parameters)

    # Actions --------------------------------------------------------------------------

    async def action_cancel(self) -> None:
        """Take one press of a cancel key, for the run that the screen is about."""
        for screen in (*reversed(self.screen_stack), self._run):
            if isinstance(screen, Cancels):
                result = screen.action_cancel()
                if inspect.isawaitable(result):
                    await result
                return

    async def action_interrupt(self) -> None:
        """Copy what is selected, else cancel."""
        focused = self.focused
        text = getattr(focused, "selected_text", "") or self.screen.get_selected_text() or ""
        if text:
            self.copy_to_clipboard(text)
            self.screen.clear_selection()
            safe_notify(self, f"{len(text)} characters copied", timeout=2)
        else:
            await self.action_cancel()

    def action_field(self, by: int) -> None:
        """Go to another field."""
        (self.screen.focus_next if by > 0 else self.screen.focus_previous)()

    async def action_go(self, mode: str) -> None:
        """Go to a screen."""
        await self.switch_mode(mode)

    def action_help(self) -> None:
        """Show every key."""
        from playground.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())

    async def action_quit(self) -> None:
        """Leave; with live runs, ask first."""
        from playground.screens.quit import QuitScreen

        if not self.live:
            self.exit()
        elif not isinstance(self.screen, QuitScreen):
            self.push_screen(QuitScreen(self.live), self._answered)

    def _answered(self, leave: bool | None) -> None:
        if leave:
            self.exit()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer the commands of this screen in the palette."""
        for command in (*APP, *(RUN if screen is self._run else ())):
            if command.palette:
                action = partial(
                    self.run_action, command.action, screen if command in RUN else self
                )
                yield SystemCommand(command.title, command.help, action)
        yield SystemCommand("Theme", "Choose the colours.", self.action_change_theme)

    # What other screens ask for -------------------------------------------------------

    async def _watch(self, run_id: str) -> None:
        await self.switch_mode("run")
        self.run_screen.attach(run_id)

    # By name and not with ``on``: the classes load with their screens.

    async def on_audit_pane_run_selected(self, event: AuditPane.RunSelected) -> None:
        """Watch the run that an audit row belongs to."""
        await self._watch(event.run_id)

    async def on_runs_screen_attach_run(self, event: RunsScreen.AttachRun) -> None:
        """Watch a run of the list."""
        await self._watch(event.run_id)
