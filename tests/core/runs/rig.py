"""A runtime with a hand on everything outside of it, and what every stream must satisfy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from core.model import (
    Cancelled,
    CancelRequested,
    Completed,
    Event,
    Failed,
    Request,
    Response,
    RunRequest,
    RunResult,
    Tool,
    ToolStarted,
    Usage,
)
from core.runtime import Run, Runtime, assemble
from core.store import SqliteStore, Store
from core.tools import Tool as AnyTool
from tests.fakes.clock import FakeClock
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.ids import CountingIds, FixedKeys
from tests.fakes.provider import ScriptedProvider, Turn
from tests.support.runtime import open_store
from tests.support.waiting import until

T = TypeVar("T")
TERMINAL = (Completed, Failed, Cancelled)


@dataclass
class Rig:
    """One runtime on a real file.

    Attributes:
        clock: stands until ``pass_time``.
        store: what its writes go through.
        elsewhere: a second store on the same file, as another process has it.
        published: the events of every run here, in commit order.
    """

    runtime: Runtime
    clock: FakeClock
    store: FaultyStore
    elsewhere: SqliteStore
    provider: ScriptedProvider
    tools: tuple[AnyTool, ...]
    published: list[Event]

    async def recorded(self, kind: type[Event], number: int = 1) -> None:
        """Wait until that many events of a kind are stored, and their writer has gone on."""
        await until(lambda: len(every(self.published, kind)) >= number, f"{number} {kind.kind}")
        await settle()

    async def recorded_cancel(self) -> None:
        """Wait until somebody's stop is stored."""
        await self.recorded(CancelRequested)

    async def start(self, **request: object) -> Run:
        """Start a run with every tool of the test on offer."""
        return await self.runtime.start(self.request(**request))

    def request(self, **given: object) -> RunRequest:
        names = tuple(tool.name for tool in self.tools)
        return RunRequest(**{"prompt": "go", "model": "m", "tools": names, **given})  # type: ignore[arg-type]

    async def pass_time(self, seconds: float, *, step: float = 0.05) -> None:
        """Move the clock in small steps; let everything happen that each step brings."""
        for _ in range(round(seconds / step)):
            self.clock.advance(step)
            await settle()

    async def outlast(self, work: Awaitable[T], *, most_s: float = 60.0) -> T:
        """Move the clock until ``work`` is done; return what it gives."""
        task = asyncio.ensure_future(work)
        for _ in range(round(most_s / 0.05)):
            await settle()
            if task.done():
                break
            self.clock.advance(0.05)
        await until(task.done, "work that the clock should have ended")
        return task.result()

    async def events(self, run: Run | str) -> list[Event]:
        run_id = run if isinstance(run, str) else run.id
        return await self.elsewhere.read_events(run_id, after=-1, limit=100_000)

    async def ended(self, run: Run) -> tuple[RunResult, list[Event]]:
        """Wait for the end; check the stream; return the result and the stream."""
        result = await asyncio.wait_for(run.wait(), 10)
        events = await self.events(run)
        assert faults_of(events) == []
        row = await self.runtime.status(run.id)
        assert row.open_steps == ()
        assert row.next_seq == len(events)
        if result.recorded:
            assert (row.usage, row.status) == (result.usage, result.status)
            assert row.closed_us is not None
        return result, events


@asynccontextmanager
async def rigged(
    path: Path,
    turns: Sequence[Turn] = (),
    *tools: AnyTool,
    loop: bool = False,
    provider: ScriptedProvider | None = None,
    down: bool = False,
    **outside: Any,
) -> AsyncIterator[Rig]:
    """Open a runtime whose model ``m`` plays ``turns``.

    Args:
        path: the database's folder.
        turns: what the model says.
        tools: the only tools on offer.
        loop: whether the last turn repeats.
        provider: the model instead.
        down: whether the store refuses writes at first.
        outside: goes to ``assemble``.
    """
    clock = FakeClock()
    file = path / "runs.db"
    store = FaultyStore(await open_store(file, clock, synchronous="normal"))
    store.down = down
    elsewhere = await open_store(file, clock, synchronous="normal")
    provider = provider or ScriptedProvider(turns, loop=loop)
    published: list[Event] = []
    store.inner.subscribe(published.extend)
    try:
        async with assemble(
            cast(Store, store),
            keys=FixedKeys(),
            tools=tools,
            clock=clock,
            ids=CountingIds(),
            path=file,
            providers={"m": provider},
            **outside,
        ) as runtime:
            try:
                yield Rig(runtime, clock, store, elsewhere, provider, tools, published)
            finally:
                # A test that failed in the middle must not hang.
                store.mend()
    finally:
        await elsewhere.close()


async def settle() -> None:
    """Let a few turns of the loop, and what the writer's thread has in hand, go by."""
    for _ in range(3):
        await asyncio.sleep(0)
    await asyncio.sleep(0.0005)


def faults_of(events: Sequence[Event]) -> list[str]:
    """Return every way in which a closed run's stream is not what it must be."""
    found = []
    if [event.seq for event in events] != list(range(len(events))):
        found.append("a gap or a double")
    terminal = [event for event in events if event.terminal]
    if len(terminal) != 1 or not events[-1].terminal:
        found.append(f"{len(terminal)} terminal events, last {events[-1].kind}")
    begun = [event.step for event in events if isinstance(event, Request | ToolStarted)]
    ended = [event.step for event in events if isinstance(event, Response | Tool)]
    if sorted(begun) != sorted(ended) or len(set(begun)) != len(begun):
        found.append(f"intents {begun}, outcomes {ended}")
    last = events[-1]
    if isinstance(last, TERMINAL) and last.usage != spent(events):
        found.append(f"total {last.usage}, sum {spent(events)}")
    return found


def spent(events: Iterable[Event]) -> Usage:
    total = Usage()
    for event in events:
        if isinstance(event, Response):
            total += event.usage
    return total


def kinds(events: Iterable[Event]) -> list[str]:
    return [event.kind.value for event in events]


def only(events: Iterable[Event], kind: type[T]) -> T:
    """Return the one event of a kind."""
    (found,) = (event for event in events if isinstance(event, kind))
    return found


def every(events: Iterable[Event], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]
