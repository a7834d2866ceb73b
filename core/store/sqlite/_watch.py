"""Tells when another process may have changed the database."""

from __future__ import annotations

from collections.abc import Callable

from core.clock import Clock, TimerHandle
from core.store.sqlite._driver import Connection, Error, data_version
from core.store.sqlite._writer import Writer

_EVERY = 0.012


class Watch:
    """Polls SQLite's change counter on the loop (2.5 µs a look) while somebody watches.

    The counter of this connection also changes with our own writer's commits. When one of
    those came since the last look, the writer is asked: its own counter does not count them.

    Args:
        connection: used for nothing else.
        clock: when to look.
        writer: None for a database that is only read.
    """

    def __init__(self, connection: Connection, clock: Clock, writer: Writer | None) -> None:
        self._connection = connection
        self._clock = clock
        self._writer = writer
        self._callbacks: list[Callable[[], None]] = []
        self._timer: TimerHandle | None = None
        self._seen = (0, 0)

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on each hint; return what ends that."""
        self._callbacks.append(callback)
        self._mind(watched=True)
        if self._timer is None:
            self._seen = self._now()
            self._timer = self._clock.call_later(_EVERY, self._look)

        def remove() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
                self._mind(watched=bool(self._callbacks))

        return remove

    def notify(self) -> None:
        """Pass on a hint."""
        for callback in tuple(self._callbacks):
            callback()

    def close(self) -> None:
        """Stop looking."""
        self._callbacks.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._connection.close()

    def _look(self) -> None:
        if not self._callbacks:
            self._timer = None
            return
        self._timer = self._clock.call_later(_EVERY, self._look)
        before, self._seen = self._seen, self._now()
        if self._seen[0] == before[0]:
            return
        if self._writer is None or (self._seen[1] == before[1] and self._seen[1] % 2 == 0):
            self.notify()
        else:
            self._writer.look()

    def _mind(self, *, watched: bool) -> None:
        if self._writer is not None:
            self._writer.watch(watched)

    def _now(self) -> tuple[int, int]:
        tick = 0 if self._writer is None else self._writer.tick
        try:
            return data_version(self._connection), tick
        except Error:  # locked for a moment: look again next time
            return self._seen[0], tick
