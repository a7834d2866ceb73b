"""Time as a port, so that tests can own it.

Two clocks are never mixed: wall time (UTC, microseconds, for records) and
monotonic time (seconds, for durations and deadlines).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class TimerHandle(Protocol):
    """A timer that can be called off."""

    def cancel(self) -> None:
        """Make sure that the callback does not run."""


class Clock(Protocol):
    """What the core asks about time."""

    def now_us(self) -> int:
        """Return UTC wall time in microseconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait ``seconds`` of this clock."""

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerHandle:
        """Call ``callback`` on the running loop after ``seconds`` of this clock."""


class SystemClock:
    """The machine's clocks."""

    def now_us(self) -> int:
        """Return UTC wall time in microseconds since the epoch."""
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        """Return seconds on the running loop's own time base."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait ``seconds``."""
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerHandle:
        """Call ``callback`` on the running loop after ``seconds``."""
        return asyncio.get_running_loop().call_later(seconds, callback)
