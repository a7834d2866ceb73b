"""Real runtimes whose outside a test plays: time, ids, models, transport."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from core.audit import open_chain
from core.clock import Clock, SystemClock
from core.config import Config
from core.http import Resolver, Transport
from core.providers import Provider
from core.runtime import Runtime, assemble
from core.store import SqliteStore
from core.tools import Tool
from tests.fakes.clock import FakeClock
from tests.fakes.ids import CountingIds, FixedKeys


async def open_store(
    path: Path,
    clock: Clock | None = None,
    *,
    kind: type[SqliteStore] = SqliteStore,
    synchronous: Literal["auto", "normal"] = "auto",
) -> SqliteStore:
    """Open a SQLite store sealed with the fixed key; ``normal`` never waits for the disk."""
    keys = FixedKeys()
    return await kind.open(
        path,
        seal=lambda database_id, _: open_chain(keys.master_key(), database_id).seal,
        clock=clock or SystemClock(),
        synchronous=synchronous,
    )


@asynccontextmanager
async def scripted_runtime(
    path: Path,
    providers: Mapping[str, Provider] | None = None,
    *,
    clock: Clock | None = None,
    tools: Iterable[Tool] = (),
    config: Config | None = None,
    transport: Transport | None = None,
    resolver: Resolver | None = None,
) -> AsyncIterator[Runtime]:
    """Open a real runtime on a real SQLite file.

    Time stands still (``runtime.clock`` is a ``FakeClock``) unless a clock is given; run
    and call ids count from 1; ``providers`` are models by name, beside the demo's.
    """
    clock = clock or FakeClock()
    store = await open_store(path / "playground.db", clock)
    async with assemble(
        store,
        keys=FixedKeys(),
        tools=tools,
        config=config,
        clock=clock,
        ids=CountingIds(),
        path=path / "playground.db",
        transport=transport,
        resolver=resolver,
        providers=providers,
    ) as runtime:
        yield runtime
