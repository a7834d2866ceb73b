"""Keys that nobody typed: the rest of a paste, and Escape glued to the key after it."""

from __future__ import annotations

from collections import deque

from textual import events
from textual.message import Message

from core.text import display

TOGETHER = 0.03
"""Seconds within which three keys cannot have been typed by hand."""

SETTLE = 0.08
"""Seconds a key that came in a burst is held back: if more follows, it was pasted."""


class LatePress(Message):
    """A cancel key, behind whatever the keys before it set off: that may be a run.

    Attributes:
        action: the key's action.
    """

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action = action


class KeyGuard:
    """Tells keys that arrive in a burst of text from keys that were pressed.

    Textual hands on the rest of a paste that holds an escape as key events, and a terminal
    without bracketed paste sends all of it so, controls included. Such keys must press nothing.
    """

    def __init__(self) -> None:
        self._printed: deque[float] = deque(maxlen=2)

    def pasted(self, event: events.Key) -> bool:
        """Return whether this key came together with at least two printable ones.

        Only keys that print, and Enter, are ever said to be pasted: a cancel key never is.
        """
        prints = event.is_printable
        burst = self.in_burst(event)
        if prints:
            self._printed.append(event.time)
        return burst and (prints or event.key == "enter")

    def in_burst(self, event: events.Event) -> bool:
        """Return whether text came so close before this that no hand was between."""
        return len(self._printed) == 2 and event.time - self._printed[0] < TOGETHER

    def paste(self, event: events.Paste) -> events.Paste:
        """Take a paste; return it as text: terminals send a line's end as a carriage return."""
        self._printed.extend((event.time, event.time))
        return events.Paste(display(event.text.replace("\r\n", "\n").replace("\r", "\n")))


def split_alt(event: events.Key) -> tuple[events.Key, events.Key] | None:
    """Return ``alt+KEY`` as the two presses it may have been: Escape, then the key.

    A terminal sends both as the same bytes if they come quickly.
    """
    if not event.key.startswith("alt+"):
        return None
    rest = event.key.removeprefix("alt+")
    return events.Key("escape", "\x1b"), events.Key(rest, event.character)
