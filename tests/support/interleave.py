"""Drives a run and its cancellers through one seeded interleaving of their operations.

Every store operation stops twice: before it is handed in and before its answer is
seen. Every delivery of the server is a step. One step happens at a time, picked by the
seed, and only once everything else stands still.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from core.config import Config, ModelEntry
from core.model import CancelLevel, CancelReceipt, Event, RunRequest, RunResult
from core.runtime import assemble
from core.store import AuditQuery, SqliteStore, Store
from tests.fakes.clock import FakeClock
from tests.fakes.demo_transport import BASE_URL, HOST, DemoServerScript
from tests.fakes.ids import FixedKeys
from tests.fakes.resolver import FakeResolver
from tests.fakes.transport import ScriptedTransport

T = TypeVar("T")
_STILL_TURNS = 12
_MOST_STEPS = 3_000
_CANCEL_ODDS = 0.06
_STEPPED = frozenset({"create_run", "commit", "cancel", "append_audit"})


class Stepper:
    """Holds operations until the seed lets them go on."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._busy = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._gates: list[tuple[str, asyncio.Future[None]]] = []

    async def gate(self, name: str) -> None:
        """Wait to be let through."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._gates.append((name, future))
        await future

    async def stepped(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do ``work`` between two gates."""
        await self.gate(f"{name} in")
        result = await self.counted(work())
        await self.gate(f"{name} out")
        return result

    async def counted(self, work: Awaitable[T]) -> T:
        """Do ``work`` that needs no gate; nothing else happens meanwhile."""
        self._busy += 1
        self._idle.clear()
        try:
            return await work
        finally:
            self._busy -= 1
            if not self._busy:
                self._idle.set()

    async def settle(self) -> None:
        """Turn the loop until nothing can go on by itself."""
        still = 0
        while still < _STILL_TURNS:
            before = len(self._gates)
            await self._idle.wait()
            await asyncio.sleep(0)
            still = still + 1 if self._idle.is_set() and len(self._gates) == before else 0

    def gates(self) -> list[Callable[[], None]]:
        """Return an action for each operation that waits."""
        return [partial(self._open, item) for item in self._gates]

    def _open(self, item: tuple[str, asyncio.Future[None]]) -> None:
        self._gates.remove(item)
        if not item[1].done():
            item[1].set_result(None)


class SteppedStore:
    """A store whose writes are stepped and whose reads go straight through."""

    def __init__(self, store: SqliteStore, stepper: Stepper) -> None:
        self._store = store
        self._stepper = stepper
        self._watchers: list[Callable[[], None]] = []

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._store, name)
        if not inspect.iscoroutinefunction(member):
            return member
        if name in _STEPPED:
            return lambda *args, **given: self._stepper.stepped(
                name, lambda: member(*args, **given)
            )
        return lambda *args, **given: self._stepper.counted(member(*args, **given))

    def hints(self) -> list[Callable[[], None]]:
        """Return an action that tells of a change by another process."""
        return list(self._watchers)

    def watch(
        self, callback: Callable[[], None], *, closely: Callable[[], bool]
    ) -> Callable[[], None]:
        self._watchers.append(callback)
        return lambda: self._watchers.remove(callback)

    async def close(self) -> None:
        """The file outlives one interleaving."""


class SpyIds:
    """Counts on across interleavings; a call id is asked for when a call's body begins.

    Attributes:
        begun: each call's id, and how many receipts had been given by then.
    """

    def __init__(self, seed: int, receipts: list[Acknowledged]) -> None:
        self._seed = seed
        self._receipts = receipts
        self.begun: list[tuple[str, int]] = []

    def run(self) -> str:
        return f"run-{self._seed:06d}"

    def call(self) -> str:
        call_id = f"call-{self._seed:06d}-{len(self.begun)}"
        self.begun.append((call_id, len(self._receipts)))
        return call_id


@dataclass(frozen=True)
class Cancel:
    """One canceller: its level, and whether it sits in the process that drives the run."""

    level: CancelLevel
    local: bool


@dataclass(frozen=True)
class Acknowledged:
    """A cancel and what it got."""

    cancel: Cancel
    receipt: CancelReceipt


@dataclass
class Seen:
    """What one interleaving showed.

    Attributes:
        run_id: the run.
        acknowledged: the cancels in the order of their answers.
        begun: each outbound call: its step, and how many answers had been given when its
            body began.
        events: the run's whole stream.
        completed: paths of the requests that the server answered to the end.
    """

    run_id: str
    acknowledged: list[Acknowledged]
    begun: list[tuple[str, int]]
    events: list[Event]
    completed: list[str]
    result: RunResult


async def interleave(
    here: SqliteStore,
    elsewhere: SqliteStore,
    *,
    seed: int,
    scene: str,
    cancels: Sequence[Cancel],
    max_rounds: int = 10,
) -> Seen:
    """Play one interleaving to its end."""
    stepper = Stepper(seed)
    script = DemoServerScript(scene)
    transport = ScriptedTransport(script.take)
    clock = FakeClock()
    acknowledged: list[Acknowledged] = []
    ids = SpyIds(seed, acknowledged)
    store = SteppedStore(here, stepper)
    entry = ModelEntry(
        name="m", provider="openai-chat", base_url=BASE_URL, model="demo", credential="key"
    )
    waiting = list(cancels)
    tasks: list[asyncio.Task[None]] = []
    async with assemble(
        cast(Store, store),
        keys=FixedKeys(),
        config=Config(models={"m": entry}),
        clock=clock,
        ids=ids,
        transport=transport,
        resolver=FakeResolver({HOST: ("127.0.0.1",)}),
    ) as runtime:

        async def ask(cancel: Cancel) -> None:
            if cancel.local:
                receipt = await runtime.cancel(ids.run(), cancel.level, by="here")
            else:
                receipt = await stepper.stepped(
                    "cancel elsewhere",
                    lambda: elsewhere.cancel(
                        ids.run(), level=cancel.level, by="elsewhere", reason="", at_us=1
                    ),
                )
            acknowledged.append(Acknowledged(cancel, receipt))

        def next_cancel() -> None:
            tasks.append(asyncio.create_task(ask(waiting.pop(0))))

        request = RunRequest(prompt="Weather in Lisbon?", model="m", max_rounds=max_rounds)
        run_task = asyncio.create_task(runtime.run(request))
        for _ in range(_MOST_STEPS):
            await stepper.settle()
            if run_task.done() and all(task.done() for task in tasks) and not waiting:
                break
            actions = [*stepper.gates(), *script.actions(), *store.hints()]
            started = ids.run() in runtime.live or run_task.done()
            if waiting and started and stepper.random.random() < _CANCEL_ODDS:
                actions = [next_cancel]
            if not stepper.gates() and not script.actions():
                actions.append(lambda: clock.advance(0.3))
            stepper.random.choice(actions)()
        else:
            raise AssertionError(f"seed {seed}: no end after {_MOST_STEPS} steps")
        result = run_task.result()
        await asyncio.gather(*tasks)
    rows = await here.audit_page(AuditQuery(run_id=ids.run()), limit=1_000)
    steps = {row.call_id: row.step or "" for row in rows}
    return Seen(
        run_id=ids.run(),
        acknowledged=acknowledged,
        begun=[(steps[call_id], count) for call_id, count in ids.begun],
        events=await here.read_events(ids.run(), after=-1, limit=10_000),
        completed=script.completed,
        result=result,
    )
