"""Owns the runs of this process: starts, stops, watches and outlives every screen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from core.agent import Plan
from core.clock import Clock
from core.errors import StepbrakeError, StoreUnavailable, UsageError
from core.ids import Ids
from core.model.events import Started
from core.model.receipts import CancelReceipt
from core.model.runs import RunRequest, RunResult, RunRow
from core.model.usage import Usage
from core.model.words import CancelLevel, RunStatus, TerminationReason
from core.runs.executor import Executor
from core.runs.flag import StopFlag
from core.runs.followers import Hub
from core.runs.reaper import Reaper, RunsAndCalls
from core.runs.recorder import PATIENCE_S
from core.text import KnownSecrets

_log = logging.getLogger(__name__)
_ACKNOWLEDGE_S = 0.25
_RETRY_S = 0.25
_GRACE_S = 5.0
_PROMPT_CHARS = 200


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run that this process drives.

    Attributes:
        run_id: the run.
        flag: its stop.
        executor: what drives it.
        task: ends with the run's result; nobody cancels it.
    """

    run_id: str
    flag: StopFlag
    executor: Executor
    task: asyncio.Task[RunResult]


class Supervisor:
    """Drives runs on a store that other processes use too.

    Args:
        store: where runs are.
        hub: hands events to followers.
        clock: both clocks.
        ids: makes run ids.
        actor: the name in audit rows of a run's calls.
        known: secrets that nothing which is stored may hold.
    """

    def __init__(
        self,
        *,
        store: RunsAndCalls,
        hub: Hub,
        clock: Clock,
        ids: Ids,
        actor: str,
        known: KnownSecrets,
    ) -> None:
        self._store = store
        self._hub = hub
        self._clock = clock
        self._ids = ids
        self._actor = actor
        self._known = known
        self._live: dict[str, LiveRun] = {}
        self._starting: set[str] = set()
        self._reaper = Reaper(store, clock, self._drives)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()
        self._closing = False
        self._unsubscribe: list[Callable[[], None]] = []

    @property
    def live(self) -> tuple[str, ...]:
        """Return the runs that this process drives, oldest first."""
        return tuple(self._live)

    def find(self, run_id: str) -> LiveRun | None:
        """Return a run that this process drives, None for any other."""
        return self._live.get(run_id)

    async def open(self, *, read_only: bool) -> None:
        """Begin to watch the store; close what dead processes left."""
        self._unsubscribe.append(self._store.subscribe(self._hub.stored))
        self._unsubscribe.append(
            self._store.watch(self._changed.set, closely=self._may_be_cancelled)
        )
        self._keep(self._watch())
        if not read_only:
            await self._reaper.try_to_reap()
            self._keep(self._reaper.run())

    async def close(self) -> None:
        """End every run, at a boundary if it comes soon, and stop watching."""
        self._closing = True
        for level, patience in ((CancelLevel.BOUNDARY, _GRACE_S), (CancelLevel.ABORT, _GRACE_S)):
            running = [run.task for run in self._live.values()]
            if not running:
                break
            await asyncio.gather(*(self._try_cancel(run_id, level) for run_id in self.live))
            await asyncio.wait(running, timeout=patience)
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._hub.close()
        leftover = [*self._tasks, *(run.task for run in self._live.values())]
        for task in leftover:
            task.cancel()
        await asyncio.gather(*leftover, return_exceptions=True)

    async def start(self, request: RunRequest, plan: Plan) -> LiveRun:
        """Create a run and drive it.

        Raises:
            StoreUnavailable: nothing was started.
            UsageError: the runtime is closing.
        """
        self._check_open()
        run_id = self._ids.run()
        now = self._clock.now_us()
        started = Started(run_id=run_id, at_us=now, model=request.model, request=request.to_json())
        row = RunRow(
            run_id=run_id,
            status=RunStatus.RUNNING,
            termination_reason=None,
            model=request.model,
            prompt=request.prompt[:_PROMPT_CHARS],
            created_us=now,
            updated_us=now,
            closed_us=None,
            owner=self._store.owner,
            claim=1,
            next_seq=1,
            round=0,
            tool_calls=0,
            usage=Usage(),
        )
        self._starting.add(run_id)
        try:
            claim = await self._store.create_run(row, started)
        finally:
            self._starting.discard(run_id)
        # Nobody would wait for it: it is left to whoever opens the store next.
        self._check_open()
        flag = StopFlag()
        executor = Executor(
            store=self._store,
            claim=claim,
            flag=flag,
            clock=self._clock,
            actor=self._actor,
            publish=self._hub.transient,
            known=self._known,
        )
        task = asyncio.create_task(executor.drive(plan), name=f"run {run_id}")
        run = LiveRun(run_id, flag, executor, task)
        self._live[run_id] = run
        task.add_done_callback(lambda _: self._end(run))
        return run

    async def cancel(
        self, run_id: str, *, level: CancelLevel, by: str, reason: str
    ) -> CancelReceipt:
        """Stop a run, whoever drives it.

        A run of this process hears of it before the row is written, and the caller waits
        for the write no longer than 250 ms.

        Raises:
            UnknownRun: there is no such run.
            StoreUnavailable: another process's run, and the store does not answer.
        """
        # Of all tries: the receipt says when it was asked for, not when the store took it.
        write_row = partial(
            self._store.cancel,
            run_id,
            level=level,
            by=self._known.mask(by),
            reason=self._known.mask(reason),
            at_us=self._clock.now_us(),
        )
        run = self._live.get(run_id)
        if run is None:
            return await write_row()
        before = run.flag.level
        run.flag.raise_to(level)
        in_flight = run.executor.recorder.open_steps
        write = self._keep(self._insist(write_row))
        run.flag.follow(write)
        await self._patiently(write, _ACKNOWLEDGE_S)
        if write.done():
            receipt: CancelReceipt = write.result()
            return receipt
        changed = before is None or level > before
        return CancelReceipt(
            changed=changed,
            run_id=run_id,
            status_before=(RunStatus.RUNNING if before is None else RunStatus.CANCELLED).value,
            level=run.flag.level,
            in_flight=in_flight,
            durable=False,
            why="" if changed else "already requested at this level",
        )

    async def _patiently(self, task: asyncio.Task[Any], seconds: float) -> None:
        """Wait for a task no longer than ``seconds`` of the clock; never cancel it."""
        late: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def give_up() -> None:
            if not late.done():
                late.set_result(None)

        timer = self._clock.call_later(seconds, give_up)
        try:
            waiting: set[asyncio.Future[Any]] = {task, late}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            late.cancel()

    def _may_be_cancelled(self) -> bool:
        return bool(self._live or self._starting or self._hub.followed)

    async def _try_cancel(self, run_id: str, level: CancelLevel) -> None:
        try:
            await self.cancel(run_id, level=level, by=self._actor, reason="the program ended")
        except StepbrakeError as error:
            _log.warning("A run could not be cancelled at the end: %s", error.what)

    async def _insist(self, write_row: Callable[[], Awaitable[CancelReceipt]]) -> CancelReceipt:
        deadline = self._clock.monotonic() + PATIENCE_S
        while True:
            try:
                return await write_row()
            except StoreUnavailable:
                if self._clock.monotonic() > deadline:
                    raise
            await self._clock.sleep(_RETRY_S)

    async def _watch(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            self._hub.changed_elsewhere()
            if not self._live:
                continue
            try:
                rows = await self._store.unclosed_runs()
            except Exception as error:
                # One damaged row must not deafen us to the cancels of every other run.
                _log.warning("Cannot look for cancels now: %s", type(error).__name__)
                continue
            for row in rows:
                run = self._live.get(row.run_id)
                if run is not None and row.cancelling and row.level is not None:
                    run.flag.raise_to(row.level)

    def _drives(self, run_id: str) -> bool:
        return run_id in self._live or run_id in self._starting

    def _check_open(self) -> None:
        if self._closing:
            raise UsageError("The runtime is closing", hint="Open another one.")

    def _end(self, run: LiveRun) -> None:
        self._live.pop(run.run_id, None)
        if run.task.cancelled():
            return
        result = run.task.result()
        if result.termination_reason is TerminationReason.STORE_UNAVAILABLE and not result.recorded:
            self._reaper.leave(run.run_id, run.executor)

    def _keep(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._let_go)
        return task

    def _let_go(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.warning("Background work failed: %s", type(task.exception()).__name__)
