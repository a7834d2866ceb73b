"""Whom every store tells of new audit rows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from core.model import AuditAction, CancelLevel
from core.store import Commit, Store
from tests.core.store.builders import RUN, assembled, begin, entry, rotation, secret
from tests.core.store.conftest import StoreFactory

A = AuditAction


async def append(store: Store) -> object:
    return await store.append_audit(entry())


async def put_secret(store: Store) -> object:
    return await store.put_secret(secret("b"), entry(A.SECRET_CREATED))


async def delete_secret(store: Store) -> object:
    return await store.delete_secret("a", entry(A.SECRET_DELETED))


async def cancel(store: Store) -> object:
    return await store.cancel(RUN, level=CancelLevel.BOUNDARY, by="me", reason="", at_us=1)


async def close_interrupted(store: Store) -> object:
    return await store.close_interrupted(7)


async def rotate(store: Store) -> object:
    return await store.rotate_key(
        rotation(store, await store.list_secrets(), "m1", before="m1", after="k2")
    )


@pytest.mark.parametrize(
    "write", [append, put_secret, delete_secret, cancel, close_interrupted, rotate]
)
async def test_every_row_is_told_of_before_its_writer_goes_on(
    store_factory: StoreFactory, write: Callable[[Store], Awaitable[object]]
) -> None:
    dead, store = await store_factory(), await store_factory()
    await begin(store)
    await store.put_secret(secret("a"), entry(A.SECRET_CREATED))
    await dead.begin_call(entry(call_id="c1"))
    await dead.close()
    told: list[str] = []
    stop = store.watch_audit(lambda: told.append("told"))
    await write(store)
    assert told
    stop()
    told.clear()
    await append(store)
    assert told == []


async def test_what_adds_no_row_is_no_news(store: Store) -> None:
    claim = await begin(store)
    row = await store.append_audit(entry(call_id="c1"))
    told: list[str] = []
    store.watch_audit(lambda: told.append("told"))
    assert await store.append_audit(entry(call_id="c1")) == row
    await store.begin_call(entry(call_id="c2"))
    await store.commit(Commit(claim=claim, outcomes=(assembled(),)))
    assert not await store.delete_secret("a", entry(A.SECRET_DELETED))
    assert await store.close_interrupted(7) == []
    assert told == []


async def test_rows_of_another_process_are_told_of(
    store: Store, store_factory: StoreFactory
) -> None:
    other = await store_factory()
    heard = asyncio.Event()
    stop = store.watch_audit(heard.set)
    for _ in range(2):
        heard.clear()
        await other.append_audit(entry())
        await asyncio.wait_for(heard.wait(), 2)
    stop()
    stop()


async def test_a_watchers_fault_keeps_neither_the_writer_nor_the_others(store: Store) -> None:
    loop = asyncio.get_running_loop()
    faults: list[str] = []
    loop.set_exception_handler(lambda _, context: faults.append(str(context["message"])))
    told: list[str] = []

    def fail() -> None:
        raise RuntimeError("on purpose")

    stop = store.watch_audit(fail)
    store.watch_audit(lambda: told.append("told"))
    row = await store.append_audit(entry())
    stop()
    loop.set_exception_handler(None)
    assert row.seq == 1
    assert told == ["told"]
    assert len(faults) == 1
