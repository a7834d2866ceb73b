"""A run's stored events, without waiting for more."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

from core.model import Event, RunRow

if TYPE_CHECKING:
    from core.runtime import Runtime


async def stored_events(runtime: Runtime, row: RunRow) -> AsyncGenerator[Event, None]:
    """Yield the events that the run had when ``row`` was read."""
    last = row.next_seq - 1
    if last < 0:
        return
    async with runtime.events(row.run_id, after=-1) as events:
        async for event in events:
            if event.seq is None:
                continue
            yield event
            if event.seq >= last:
                return


async def all_runs(runtime: Runtime) -> AsyncIterator[RunRow]:
    """Yield every run, newest first."""
    before: str | None = None
    while page := await runtime.runs(limit=200, before=before):
        for row in page:
            yield row
        before = page[-1].run_id
