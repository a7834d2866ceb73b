"""Runs a step's body in a task of its own, with a deadline and an abort."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from core.clock import Clock, TimerHandle
from core.http import CancelSignal
from core.model.words import CancelLevel
from core.runs.flag import StopFlag
from core.tools.base import LeftRunning

_log = logging.getLogger(__name__)
_LAST_WAIT_S = 1.0
# The event loop itself holds tasks weakly.
_left_running: set[asyncio.Task[Any]] = set()

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """How a body ended.

    Attributes:
        begun: False if a stop came before its first line.
        value: what it returned, None if it did not.
        error: what it raised, None if it did not.
        interrupted: it was cut and ended.
        unknown: it was cut, and it or what it began may still be running.
        overdue: it was cut because its deadline ran out.
    """

    begun: bool = True
    value: T | None = None
    error: BaseException | None = None
    interrupted: bool = False
    unknown: bool = False
    overdue: bool = False


class StepRun(Generic[T]):
    """One body.

    The waiting task is never cancelled on behalf of a stop; only the child is, and only
    after its signal did not end it.

    Args:
        clock: the time its bounds live in.
        flag: the run's stop.
        signal: the body's own signal.
        deadline_s: seconds after which it is cut whatever the flag says.
        patience_s: seconds that a cut body has to end by its signal.
        abortable: whether an ABORT cuts it; a non-idempotent effect is not.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        flag: StopFlag,
        signal: CancelSignal,
        deadline_s: float,
        patience_s: float,
        abortable: bool,
    ) -> None:
        self._clock = clock
        self._flag = flag
        self._signal = signal
        self._deadline_s = deadline_s
        self._patience_s = patience_s
        self._abortable = abortable
        self._timers: list[TimerHandle] = []
        self._begun = False
        self._cut = False
        self._left_running = False
        self._overdue = False

    async def run(self, body: Callable[[], Awaitable[T]]) -> Ended[T]:
        """Run ``body`` to its end or to ours."""
        task = asyncio.create_task(self._guarded(body))
        gave_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = task
        self._gave_up = gave_up
        unsubscribe = self._flag.subscribe(self._on_level)
        self._later(self._deadline_s, self._on_deadline)
        if self._flag.level is not None:
            self._on_level(self._flag.level)
        try:
            waiting: set[asyncio.Future[Any]] = {task, gave_up}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # Only the end of the whole loop cancels us: the body goes with it.
            task.cancel()
            _leave(task)
            raise
        finally:
            unsubscribe()
            for timer in self._timers:
                timer.cancel()
            gave_up.cancel()
        return self._judge(task)

    async def _guarded(self, body: Callable[[], Awaitable[T]]) -> T | _Raised:
        if self._flag.level is not None:
            return _Raised(None)
        self._begun = True
        try:
            return await body()
        except LeftRunning:
            self._left_running = True
            raise
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:
            # An outcome like any other: out of a task, SystemExit would end the loop.
            return _Raised(error)

    def _judge(self, task: asyncio.Task[T | _Raised]) -> Ended[T]:
        if not task.done():
            _leave(task)
            return Ended(unknown=True, overdue=self._overdue)
        if self._left_running:
            return Ended(unknown=True, overdue=self._overdue)
        if task.cancelled():
            if self._begun and not self._cut:
                # Nobody cancelled it: something that it waited for was.
                return Ended(error=asyncio.CancelledError())
            return Ended(begun=self._begun, interrupted=True, overdue=self._overdue)
        end = task.result()
        if not isinstance(end, _Raised):
            return Ended(value=end, interrupted=self._cut, overdue=self._overdue)
        return Ended(
            begun=self._begun,
            error=end.error,
            interrupted=self._cut or not self._begun,
            overdue=self._overdue,
        )

    def _on_level(self, level: CancelLevel) -> None:
        if level >= CancelLevel.ABORT and self._abortable:
            self._end()

    def _on_deadline(self) -> None:
        if not self._cut:
            self._overdue = True
            self._end()

    def _end(self) -> None:
        if self._cut:
            return
        self._cut = True
        self._later(self._patience_s, self._on_impatience)
        try:
            self._signal.set()
        except Exception as error:
            # A subscriber's fault must not keep the other steps from hearing of the stop.
            _log.warning("A subscriber of a step's signal raised %s", type(error).__name__)

    def _on_impatience(self) -> None:
        if not self._abortable:
            # Cutting an effect half-way is worse than not knowing its end.
            self._on_giving_up()
            return
        self._task.cancel()
        self._later(_LAST_WAIT_S, self._on_giving_up)

    def _on_giving_up(self) -> None:
        if not self._gave_up.done():
            self._gave_up.set_result(None)

    def _later(self, seconds: float, callback: Callable[[], None]) -> None:
        self._timers.append(self._clock.call_later(seconds, callback))


@dataclass(frozen=True, slots=True)
class _Raised:
    """What a body raised; None if the flag was up before its first line."""

    error: BaseException | None


def _leave(task: asyncio.Task[T | _Raised]) -> None:
    _left_running.add(task)
    task.add_done_callback(_see)


def _see(task: asyncio.Task[T | _Raised]) -> None:
    _left_running.discard(task)
    if task.cancelled():
        return
    end = task.result()
    if isinstance(end, _Raised):
        _log.warning("A step that was left running raised %s", type(end.error).__name__)
