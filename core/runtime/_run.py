"""A handle on one run, whoever drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.model.receipts import CancelReceipt
from core.model.runs import RunResult, RunRow
from core.model.words import CancelLevel
from core.runs import EventStream, LiveRun, result_of

if TYPE_CHECKING:
    from core.runtime._facade import Runtime


class Run:
    """A run.

    Attributes:
        id: the run's id.
    """

    def __init__(self, runtime: Runtime, run_id: str, live: LiveRun | None = None) -> None:
        self.id = run_id
        self._runtime = runtime
        self._live = live

    def events(self, after: int = -1) -> EventStream:
        """Return the run's events: replay, then live, until the terminal one.

        Args:
            after: give only events with a higher seq.
        """
        return self._runtime.events(self.id, after)

    async def cancel(
        self,
        level: CancelLevel = CancelLevel.BOUNDARY,
        *,
        by: str | None = None,
        reason: str = "",
    ) -> CancelReceipt:
        """Stop the run; see :meth:`Runtime.cancel`."""
        return await self._runtime.cancel(self.id, level, by=by, reason=reason)

    async def wait(self) -> RunResult:
        """Return how the run ended, once it has. Never raises for an outcome.

        Cancelling the waiter does not touch the run.
        """
        if self._live is not None:
            return await self._runtime.result(self._live)
        async with self.events() as events:
            async for event in events:
                if event.terminal:
                    return result_of(event)
        raise AssertionError("a closed run has a terminal event")

    async def status(self) -> RunRow:
        """Return the run's row."""
        return await self._runtime.status(self.id)
