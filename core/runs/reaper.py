"""Looks for what dead processes left open, and closes it: runs, and calls in the audit log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from core.clock import Clock
from core.errors import StoreError, StoreUnavailable
from core.model.runs import RunResult, RunRow
from core.runs.executor import Executor
from core.runs.recovery import close_left
from core.store.protocol import AuditStore, Claim, RunStore

_log = logging.getLogger(__name__)
_EVERY_S = 1.0


class RunsAndCalls(RunStore, AuditStore, Protocol):
    """The part of a store that the reaper needs."""


class Reaper:
    """Closes runs of dead processes, and runs of this one whose end was not stored.

    It also names, in the audit log, each call that a process died in.

    Args:
        store: where runs and calls are.
        clock: both clocks.
        driven: says whether this process drives a run now.
    """

    def __init__(self, store: RunsAndCalls, clock: Clock, driven: Callable[[str], bool]) -> None:
        self._store = store
        self._clock = clock
        self._driven = driven
        self._unrecorded: dict[str, Executor] = {}
        self._unreadable: set[str] = set()

    def leave(self, run_id: str, executor: Executor) -> None:
        """Keep what knows the end of a run that the store did not take."""
        self._unrecorded[run_id] = executor

    async def run(self) -> None:
        """Reap each second, for ever."""
        while True:
            await self._clock.sleep(_EVERY_S)
            await self.try_to_reap()

    async def try_to_reap(self) -> None:
        """Reap, or leave it for the next time."""
        try:
            await self.reap()
        except StoreUnavailable as error:
            _log.debug("Not reaping now: %s", error.what)

    async def reap(self) -> list[RunResult]:
        """Close every call and every run that nobody drives; return what became of the runs.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        await self._close_calls()
        closed: list[RunResult] = []
        for row in await self._store.unclosed_runs():
            if self._driven(row.run_id) or row.run_id in self._unreadable:
                continue
            try:
                result = await self._close(row)
            except StoreUnavailable:
                raise
            except Exception as error:
                # A damaged run must not keep the others open.
                self._unreadable.add(row.run_id)
                _log.error("Run %s cannot be closed: %s", row.run_id, type(error).__name__)
                continue
            if result is not None:
                closed.append(result)
        return closed

    async def _close_calls(self) -> None:
        try:
            await self._store.close_interrupted(self._clock.now_us())
        except StoreError as error:
            # A damaged intent must not keep the runs open.
            _log.error("Interrupted calls cannot be named: %s", error.what)

    async def _close(self, row: RunRow) -> RunResult | None:
        claim = await self._claim(row)
        if claim is None:
            return None
        # The claim may have come after more events than the row we saw.
        fresh = await self._store.get_run(row.run_id)
        if fresh is None:
            return None
        executor = self._unrecorded.get(row.run_id)
        if executor is None or fresh.claim != row.claim:
            return await close_left(self._store, fresh, claim, self._clock)
        result = await executor.record_late(fresh)
        if result is not None:
            del self._unrecorded[row.run_id]
        return result

    async def _claim(self, row: RunRow) -> Claim | None:
        if row.owner == self._store.owner:
            # Our own segment ended while the store was down.
            return Claim(row.run_id, row.claim)
        return await self._store.take_over(row)
