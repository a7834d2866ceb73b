"""A run's stop as this process knows it: a hint, and for its own bodies the law.

The truth is the run's row. The flag is raised before a local cancel writes the row,
and by hints of other processes' cancels; a body that has not begun reads it first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from core.errors import StoreUnavailable
from core.model.words import CancelLevel


class StopFlag:
    """A level that only rises.

    Attributes:
        level: the highest level asked for here, None while nobody asked.
    """

    def __init__(self) -> None:
        self.level: CancelLevel | None = None
        self._raised = asyncio.Event()
        self._subscribers: list[Callable[[CancelLevel], None]] = []
        self._writes: set[asyncio.Task[object]] = set()
        self._refused = False

    def raise_to(self, level: CancelLevel) -> None:
        """Raise the level and tell every subscriber at once; lower levels change nothing."""
        if self.level is not None and level <= self.level:
            return
        self.level = level
        self._raised.set()
        for subscriber in tuple(self._subscribers):
            subscriber(level)

    def subscribe(self, callback: Callable[[CancelLevel], None]) -> Callable[[], None]:
        """Call back on each rise; return the unsubscriber."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    async def raised(self) -> None:
        """Return once somebody asked for a stop."""
        await self._raised.wait()

    def follow(self, write: asyncio.Task[object]) -> None:
        """Keep a write of the row that this flag stands for."""
        self._writes.add(write)
        write.add_done_callback(self._let_go)

    async def settled(self) -> bool:
        """Return once every such write has ended; False if the store stayed down for the last."""
        while self._writes:
            await asyncio.wait(set(self._writes))
        return not self._refused

    def _let_go(self, write: asyncio.Task[object]) -> None:
        self._writes.discard(write)
        if not write.cancelled():
            self._refused = isinstance(write.exception(), StoreUnavailable)
