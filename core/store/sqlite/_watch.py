"""Tells when another process may have changed the database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from core.store.sqlite._callbacks import Callbacks
from core.store.sqlite._driver import Connection, Error, data_version
from core.store.sqlite._writer import Writer

_CLOSELY_S = 0.012
_IDLY_S = 0.2


class Watch:
    """Polls SQLite's change counter on the loop (2.5 µs a look) while somebody watches.

    The counter of this connection also changes with our own writer's commits. When one of
    those came since the last look, the writer is asked: its own counter does not count them.

    Args:
        connection: used for nothing else.
        writer: None for a database that is only read.
    """

    def __init__(self, connection: Connection, writer: Writer | None) -> None:
        self._connection = connection
        self._writer = writer
        self._callbacks: Callbacks[[]] = Callbacks("watcher")
        self._closely: dict[object, Callable[[], bool]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._seen = (0, 0)

    def add(self, callback: Callable[[], None], closely: Callable[[], bool]) -> Callable[[], None]:
        """Call back on each hint; return what ends that."""
        token, forget = object(), self._callbacks.add(callback)
        self._closely[token] = closely
        self._mind(watched=True)
        if self._timer is None:
            self._seen = self._now()
        self.hasten()

        def remove() -> None:
            forget()
            self._closely.pop(token, None)
            self._mind(watched=bool(self._callbacks))

        return remove

    def hasten(self) -> None:
        """Look soon: whether anybody needs to look closely may have changed."""
        if self._callbacks:
            self._arm(_CLOSELY_S)

    def notify(self) -> None:
        """Pass on a hint."""
        self._callbacks.tell()

    def close(self) -> None:
        """Stop looking."""
        self._callbacks.clear()
        self._closely.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._connection.close()

    def _look(self) -> None:
        if not self._callbacks:
            self._timer = None
            return
        closely = any(closely() for closely in tuple(self._closely.values()))
        self._arm(_CLOSELY_S if closely else _IDLY_S)
        before, self._seen = self._seen, self._now()
        if self._seen[0] == before[0]:
            return
        if self._writer is None or (self._seen[1] == before[1] and self._seen[1] % 2 == 0):
            self.notify()
        else:
            self._writer.look()

    def _arm(self, seconds: float) -> None:
        # The loop's own time: this looks at the outside, whatever the product's clock says.
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _mind(self, *, watched: bool) -> None:
        if self._writer is not None:
            self._writer.watch(watched)

    def _now(self) -> tuple[int, int]:
        tick = 0 if self._writer is None else self._writer.tick
        try:
            return data_version(self._connection), tick
        except Error:  # locked for a moment: look again next time
            return self._seen[0], tick
