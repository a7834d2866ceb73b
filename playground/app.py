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
from textual.timer import Timer

from core import Clock, SystemClock
from playground.commands import APP, HELD, RUN, bindings
from playground.keys import SETTLE, KeyGuard, LatePress, split_alt
from playground.safe import ControlFilter, safe_crash, safe_notify
from playground.widgets.toned import TONES

if TYPE_CHECKING:
    from core import Runtime
    from playground.screens.run import RunScreen
    from playground.screens.runs import RunsScreen
    from playground.widgets.audit_pane import AuditPane

STYLES = Path(__file__).parent / "styles"
_HINT_SECONDS = 3.0


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
        self._held: Timer | None = None
        self._hinted = float("-inf")
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
            known = self.runtime.known if self.runtime else None
            self._exit_renderables.append(safe_crash(self._exception, known))
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
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if self._held is not None:
                self._held.stop()
                self._held = None
            if isinstance(event, events.Paste):
                event = self._guard.paste(event)
            elif self._as_escape(event) or self._press_late(event):
                return
            elif self._guard.pasted(event):
                if not self._typing:
                    return
            elif self._guard.in_burst(event):
                if self._indents(event):
                    return
                if self._commands(event):
                    self._held = self.set_timer(SETTLE, partial(super().on_event, event))
                    return
        await super().on_event(event)

    def _press_late(self, event: events.Key) -> bool:
        """Send a cancel key behind the keys before it, where no run is on the screen yet.

        It comes before what other widgets do with keys, so on a busy loop it would overtake
        the Enter that starts a run, and be lost.
        """
        if self._watched:
            return False
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if binding.priority and binding.id in {"app.cancel", "app.interrupt"}:
                source = self.focused or self.screen
                source.call_later(source.post_message, LatePress(binding.action))
                return True
        return False

    async def on_late_press(self, press: LatePress) -> None:
        """Take a cancel key when its turn has come."""
        await self.run_action(press.action)

    def _indents(self, event: events.Key) -> bool:
        """Hand a Tab inside pasted text to the prompt, and to no binding."""
        prompt = self.focused
        if event.key != "tab" or prompt is None or prompt.id != "prompt":
            return False
        prompt._forward_event(event)
        return True

    def _commands(self, event: events.Key) -> bool:
        """Return whether a key is a command of the app's that does more than stop a run."""
        active = self.active_bindings.get(event.key)
        return active is not None and active.binding.id in HELD

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
    def _watched(self) -> bool:
        """Return whether the run on the run screen is live."""
        view = self._run.view if self._run is not None else None
        return view is not None and view.phase.live

    @property
    def _watching_live(self) -> bool:
        return self.live > 0 or self._watched

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to cancel only what is live; other screens know what is theirs."""
        if action == "cancel":
            base = next(iter(self.screen_stack), None)
            if base is self._run or not isinstance(base, Cancels):
                return self._watching_live
            return base.check_action(action, parameters)
        if action == "field":
            # A field that completes names with Tab keeps it.
            own = self.focused._bindings.key_to_bindings if self.focused is not None else {}
            return not own.keys() & {"tab"}
        return super().check_action(action, parameters)

    # Actions --------------------------------------------------------------------------

    async def action_cancel(self) -> None:
        """Take one press of a cancel key, for the run that the screen is about."""
        for screen in (*reversed(self.screen_stack), self._run):
            if isinstance(screen, Cancels) and (screen is not self._run or self._watched):
                result = screen.action_cancel()
                if inspect.isawaitable(result):
                    await result
                return
        if self.live:
            said = "No live run is on the screen. F4 lists them; c cancels one there."
        else:
            said = "Nothing is live. Ctrl+Q quits."
        if self.clock.monotonic() - self._hinted >= _HINT_SECONDS:  # one for a key held down
            self._hinted = self.clock.monotonic()
            safe_notify(self, said, timeout=_HINT_SECONDS)

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
            self.push_screen(QuitScreen(lambda: self.live), self._answered)

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

    async def _watch(self, run_id: str, step: str | None = None) -> None:
        await self.switch_mode("run")
        self.run_screen.attach(run_id, step)

    # By name and not with ``on``: the classes load with their screens.

    async def on_audit_pane_run_selected(self, event: AuditPane.RunSelected) -> None:
        """Watch the run that an audit row belongs to, at its step."""
        await self._watch(event.run_id, event.step)

    async def on_runs_screen_attach_run(self, event: RunsScreen.AttachRun) -> None:
        """Watch a run of the list."""
        await self._watch(event.run_id)
