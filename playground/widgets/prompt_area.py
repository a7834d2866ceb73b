"""The prompt: Enter runs it, and a paste never does."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from playground.keys import SETTLE, TOGETHER


class PromptArea(TextArea):
    """Multi-line text that looks like one line until it is more.

    Enter runs. Enter inside a burst of keys is a new line of pasted text: terminals without
    bracketed paste send it key by key, and Textual hands on the rest of a paste that holds an
    escape as keys. An Enter that ends a burst runs only if nothing follows it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,shift+enter,alt+enter", "newline", "New line", show=False),
        Binding("escape", "leave", "Leave", show=False),
    ]

    class Submitted(Message):
        """Run it."""

    class Left(Message):
        """Escape was pressed."""

    def __init__(self, *, id: str, placeholder: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, placeholder=placeholder, compact=True, highlight_cursor_line=False)
        # Blinking draws twice a second for ever; an app at rest should cost nothing.
        self.cursor_blink = False
        self._last_key = 0.0
        self._held: Timer | None = None

    async def _on_key(self, event: events.Key) -> None:
        close = event.time - self._last_key < TOGETHER
        self._last_key = event.time
        self._release()
        if event.key == "tab" and close:
            event.stop()
            event.prevent_default()
            self.insert("\t")
            return
        if event.key != "enter":
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        if close:
            self._hold()
        else:
            self._submit()

    async def _on_paste(self, event: events.Paste) -> None:
        self._release()

    def on_late_press(self) -> None:
        """Start nothing after a cancel key."""
        if self._held is not None:
            self._held.stop()
            self._held = None

    def on_blur(self) -> None:
        """Run nothing that was typed before the keys went elsewhere."""
        self._release()

    def _hold(self) -> None:
        self._held = self.set_timer(SETTLE, partial(self._settled, monotonic()))

    def _settled(self, since: float) -> None:
        if monotonic() - since > 2 * SETTLE:
            self._hold()  # the loop was busy: what follows may not have been read yet
        else:
            self._submit()

    def _release(self) -> None:
        """Turn an Enter that was held back into the new line it was."""
        if self._held is not None:
            self._held.stop()
            self._held = None
            self.insert("\n")

    def _submit(self) -> None:
        self._held = None
        self.post_message(self.Submitted())

    def action_newline(self) -> None:
        """Insert a line break."""
        self.insert("\n")

    def action_leave(self) -> None:
        """Hand the keys to whoever comes next."""
        self.post_message(self.Left())
