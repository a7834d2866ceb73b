"""Keys that nobody typed: the rest of a paste, and Escape glued to the key after it."""

from __future__ import annotations

from collections import deque

from textual import events

TOGETHER = 0.03
"""Seconds within which three keys cannot have been typed by hand."""


class KeyGuard:
    """Tells keys that arrive in a burst of text from keys that were pressed.

    Textual hands on the rest of a paste that holds an escape as key events, and a terminal
    without bracketed paste sends all of it so. Such keys must press nothing.
    """

    def __init__(self) -> None:
        self._printed: deque[float] = deque(maxlen=2)

    def pasted(self, event: events.Key) -> bool:
        """Return whether this key came together with at least two printable ones.

        Only keys that print, and Enter, are ever said to be pasted: a cancel key never is.
        """
        prints = event.is_printable
        burst = len(self._printed) == 2 and event.time - self._printed[0] < TOGETHER
        if prints:
            self._printed.append(event.time)
        return burst and (prints or event.key == "enter")


def split_alt(event: events.Key) -> tuple[events.Key, events.Key] | None:
    """Return ``alt+KEY`` as the two presses it may have been: Escape, then the key.

    A terminal sends both as the same bytes if they come quickly.
    """
    if not event.key.startswith("alt+"):
        return None
    rest = event.key.removeprefix("alt+")
    return events.Key("escape", "\x1b"), events.Key(rest, event.character)
