from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

import pytest

from core.store import SqliteStore, Store
from tests.core.store.builders import seal
from tests.fakes import memory_store
from tests.fakes.memory_store import MemoryDatabase, MemoryStore

NOW_US = 50


class StoreFactory(Protocol):
    """Opens one more process's store on the test's database."""

    async def __call__(self, *, fenced: bool = True) -> Store: ...


class Unfenced(SqliteStore):
    """SQLite without the fence: intents are stored although the run is cancelled."""

    intents_allowed = "1"


class StandingClock:
    def now_us(self) -> int:
        return NOW_US

    def monotonic(self) -> float:
        raise AssertionError

    async def sleep(self, seconds: float) -> None:
        raise AssertionError

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        import asyncio

        return asyncio.get_running_loop().call_later(seconds, callback)


class Timer(Protocol):
    def cancel(self) -> None: ...


@pytest.fixture(params=["memory", "sqlite"])
async def store_factory(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[StoreFactory]:
    database = MemoryDatabase()
    opened: list[Store] = []

    async def memory(*, fenced: bool = True) -> Store:
        kind = MemoryStore if fenced else memory_store.Unfenced
        opened.append(kind(database, seal=seal, now_us=lambda: NOW_US))
        return opened[-1]

    async def sqlite(*, fenced: bool = True) -> Store:
        kind = SqliteStore if fenced else Unfenced
        opened.append(await kind.open(tmp_path / "test.db", seal=seal, clock=StandingClock()))
        return opened[-1]

    yield memory if request.param == "memory" else sqlite
    for each in opened:
        await each.close()


@pytest.fixture
async def store(store_factory: StoreFactory) -> Store:
    return await store_factory()
