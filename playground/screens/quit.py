"""The question before leaving while runs are live."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button

from playground.safe import Part, SafeStatic, safe_text, safe_title
from playground.state.format import plural

_TICK_SECONDS = 0.25


class QuitScreen(ModalScreen[bool]):
    """Cancel and quit, or stay. Staying is what a stray key does.

    Args:
        live: returns how many runs leaving would stop; asked again while the question stands.
    """

    AUTO_FOCUS = "#stay"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stay", "Stay"),
        Binding("left,right,up,down", "other", "Other button", show=False),
    ]

    def __init__(self, live: Callable[[], int]) -> None:
        super().__init__()
        self._count = live
        self._live = live()

    def compose(self) -> ComposeResult:
        """Lay out the dialog."""
        with Vertical(id="quit"):
            yield SafeStatic(*self._question(), id="quit-question")
            with Horizontal(id="quit-buttons"):
                yield Button("Stay", id="stay", compact=True)
                yield Button("Cancel and quit", id="leave", compact=True)

    def on_mount(self) -> None:
        """Name the dialog."""
        safe_title(self.query_one("#quit"), "quit", "esc stays")
        self.set_interval(_TICK_SECONDS, self._keep_up)

    def _question(self) -> tuple[Part, ...]:
        if not self._live:
            return (("Nothing is live any more.\n", "bold"), "What was done is kept.")
        return (
            (f"{plural(self._live, 'run')} live.\n", "bold"),
            "Leaving cancels at the next step boundary, and aborts what is still in flight "
            "after 5 seconds. What was done is kept.",
        )

    def _keep_up(self) -> None:
        live = self._count()
        if live != self._live:
            self._live = live
            self.query_one("#quit-question", SafeStatic).show(*self._question())
            leave = self.query_one("#leave", Button)
            leave.label = safe_text("Cancel and quit" if live else "Quit")

    @on(Button.Pressed, "#stay")
    def action_stay(self) -> None:
        """Go back."""
        self.dismiss(False)

    @on(Button.Pressed, "#leave")
    def _leave(self) -> None:
        self.dismiss(True)

    def action_other(self) -> None:
        """Go to the other button."""
        self.focus_next()
