"""A flag that can be raised once, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable


class CancelSignal:
    """A thread-safe request to stop.

    ``set`` calls every subscriber in the calling thread before it returns.
    """

    __slots__ = ("_is_set", "_lock", "_subscribers")

    def __init__(self) -> None:
        self._is_set = False
        self._lock = threading.Lock()
        self._subscribers: dict[object, Callable[[], None]] = {}

    def set(self) -> None:
        """Raise the flag; each subscriber is called once, also if another one raises.

        Raises:
            Exception: the first error of a subscriber, after all have been called.
        """
        with self._lock:
            if self._is_set:
                return
            self._is_set = True
            waiting = list(self._subscribers.values())
            self._subscribers.clear()
        first: Exception | None = None
        for callback in waiting:
            try:
                callback()
            except Exception as error:
                first = first or error
        if first is not None:
            raise first

    def is_set(self) -> bool:
        """Return whether the flag is up; it never comes down."""
        return self._is_set

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have ``callback`` called when the flag goes up, at once if it is up.

        Returns:
            A function that ends the subscription; calling it again is harmless.
        """
        token = object()
        with self._lock:
            if not self._is_set:
                self._subscribers[token] = callback
                return lambda: self._forget(token)
        callback()
        return lambda: None

    def _forget(self, token: object) -> None:
        with self._lock:
            self._subscribers.pop(token, None)
