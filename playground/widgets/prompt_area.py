"""The prompt: Enter runs it, and a paste never does."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from core.text import display

_TOGETHER = 0.03
"""Seconds: keys closer together than this were not typed by hand."""

_SETTLE = 0.08
"""Seconds an Enter that came with other keys is held back: if more follows it was pasted."""


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
        close = event.time - self._last_key < _TOGETHER
        self._last_key = event.time
        self._release()
        if event.key != "enter":
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        if close:
            self._held = self.set_timer(_SETTLE, self._submit)
        else:
            self._submit()

    async def _on_paste(self, event: events.Paste) -> None:
        self._release()
        event.prevent_default()
        await super()._on_paste(events.Paste(display(event.text)))

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
