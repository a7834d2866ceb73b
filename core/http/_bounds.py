"""How long a call may take, on our own clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from core.clock import Clock, TimerHandle
from core.http._outcomes import Ending
from core.http._seam import Belt

# Timers fire a hair early and floating point sums are inexact.
_SLACK = 1e-6
_BELT_ABOVE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits of one call; None means no limit.

    Attributes:
        total: seconds for everything, from the first gate to the last byte.
        connect: seconds for the lookup, and again for the connection.
        first_byte: seconds from the connection to the answer's final head.
        silence: seconds between two pieces of the body; time in which the reader
            itself holds the stream back does not count.
        body_bytes: size of an answer that ``send`` takes; streams have no limit.
    """

    total: float | None = 600.0
    connect: float | None = 10.0
    first_byte: float | None = 120.0
    silence: float | None = 60.0
    body_bytes: int | None = 16 * 1024 * 1024


def belt_above(bounds: Bounds, elapsed: float) -> Belt:
    """Return the transport's own bounds, one second above what is left."""
    return Belt(
        connect_ms=_milliseconds(bounds.connect, 0.0),
        total_ms=_milliseconds(bounds.total, elapsed),
    )


def _milliseconds(limit: float | None, elapsed: float) -> int:
    return 0 if limit is None else int((max(limit - elapsed, 0.0) + _BELT_ABOVE) * 1_000)


class Phase(Enum):
    """What a call is waiting for."""

    GATES = None
    LOOKUP = Ending.TIMEOUT_LOOKUP
    CONNECT = Ending.TIMEOUT_CONNECT
    FIRST_BYTE = Ending.TIMEOUT_FIRST_BYTE
    BODY = Ending.TIMEOUT_SILENCE


class Watchdog:
    """One timer for all bounds of a call, re-armed only when it fires."""

    __slots__ = (
        "_bounds", "_clock", "_ends", "_expired", "_held", "_phase", "_since", "_start",
        "_timer", "_timer_at",
    )  # fmt: skip

    def __init__(self, clock: Clock, bounds: Bounds, expired: Callable[[Ending], None]) -> None:
        self._clock = clock
        self._expired = expired
        self._bounds = bounds
        self._start = self._since = clock.monotonic()
        self._ends = None if bounds.total is None else self._start + bounds.total
        self._phase = Phase.GATES
        self._held = False
        self._timer: TimerHandle | None = None
        self._timer_at = 0.0
        self._arm(self._start)

    def elapsed(self) -> float:
        """Return the seconds since the call began."""
        return self._clock.monotonic() - self._start

    def enter(self, phase: Phase) -> None:
        """The call now waits for something else."""
        self._phase = phase
        self._held = False
        self._since = now = self._clock.monotonic()
        self._arm(now)

    def touch(self) -> None:
        """Something arrived."""
        self._since = self._clock.monotonic()

    def hold(self) -> None:
        """The reader holds the stream back: silence does not count."""
        self._held = True

    def release(self) -> None:
        """The stream goes on."""
        self.enter(self._phase)

    def stop(self) -> None:
        """The call is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> float | None:
        limit = None if self._held else self._limit()
        phase_ends = None if limit is None else self._since + limit
        if phase_ends is None or self._ends is None:
            return self._ends if phase_ends is None else phase_ends
        return min(phase_ends, self._ends)

    def _limit(self) -> float | None:
        match self._phase:
            case Phase.GATES:
                return None
            case Phase.LOOKUP | Phase.CONNECT:
                return self._bounds.connect
            case Phase.FIRST_BYTE:
                return self._bounds.first_byte
            case Phase.BODY:
                return self._bounds.silence

    def _arm(self, now: float) -> None:
        due = self._due()
        if due is None or (self._timer is not None and self._timer_at <= due):
            return
        self.stop()
        self._timer_at = due
        self._timer = self._clock.call_later(max(due - now, 0.0), self._fire)

    def _fire(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        due = self._due()
        if due is None:
            return
        if due - now > _SLACK:
            self._arm(now)
        elif self._ends is not None and due >= self._ends:
            self._expired(Ending.TIMEOUT_TOTAL)
        elif self._phase.value is not None:
            self._expired(self._phase.value)
