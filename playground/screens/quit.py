"""The question before leaving while runs are live."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button

from playground.safe import SafeStatic, safe_title
from playground.state.format import plural


class QuitScreen(ModalScreen[bool]):
    """Cancel and quit, or stay. Staying is what a stray key does."""

    AUTO_FOCUS = "#stay"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stay", "Stay"),
        Binding("left,right,up,down", "other", "Other button", show=False),
    ]

    def __init__(self, live: int) -> None:
        super().__init__()
        self._live = live

    def compose(self) -> ComposeResult:
        """Lay out the dialog."""
        with Vertical(id="quit"):
            yield SafeStatic(
                (f"{plural(self._live, 'run')} live.\n", "bold"),
                "Leaving cancels at the next step boundary, and aborts what is still in flight "
                "after 5 seconds. What was done is kept.",
            )
            with Horizontal(id="quit-buttons"):
                yield Button("Stay", id="stay", compact=True)
                yield Button("Cancel and quit", id="leave", compact=True)

    def on_mount(self) -> None:
        """Name the dialog."""
        safe_title(self.query_one("#quit"), "quit", "esc stays")

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
