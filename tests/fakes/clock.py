"""A clock that stands until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

_START_US = 1_900_000_000_000_000


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class FakeTimer:
    """A timer of a ``FakeClock``."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeClock:
    """A ``core.clock.Clock``: ``advance`` fires timers in order, and nothing else does."""

    def __init__(self) -> None:
        self._now = 0.0
        self._order = count()
        self._timers: list[tuple[float, int, FakeTimer]] = []

    def now_us(self) -> int:
        return _START_US + round(self._now * 1_000_000)

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        done = asyncio.get_running_loop().create_future()
        timer = self.call_later(seconds, lambda: _finish(done))
        try:
            await done
        finally:
            timer.cancel()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(callback)
        heapq.heappush(self._timers, (self._now + max(seconds, 0.0), next(self._order), timer))
        return timer

    def advance(self, seconds: float) -> None:
        """Move on by ``seconds``; timers due on the way fire at their own time."""
        until = self._now + seconds
        while self._timers and self._timers[0][0] <= until:
            when, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, when)
            if not timer.cancelled:
                timer.callback()
        self._now = until

    @property
    def pending(self) -> int:
        """How many timers are armed."""
        return sum(not timer.cancelled for _, _, timer in self._timers)
