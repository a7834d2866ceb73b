"""What every store does about owners: taking over, watching."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from core.errors import StoreUnavailable
from core.model import CancelLevel
from core.store import Claim, Commit, Store, Verdict
from tests.core.store.builders import RUN, assembled, begin, completed, entry, response
from tests.core.store.conftest import StoreFactory


async def test_each_store_is_an_owner_of_its_own(store: Store, store_factory: StoreFactory) -> None:
    other = await store_factory()
    assert store.owner != other.owner
    assert store.database_id == other.database_id
    assert store.owner.partition("-")[0].isdigit()


async def test_a_living_owner_keeps_its_run(store: Store, store_factory: StoreFactory) -> None:
    other = await store_factory()
    claim = await begin(store)
    row = await store.get_run(RUN)
    assert row is not None
    assert await other.take_over(row) is None
    assert await store.take_over(row) is None
    assert (await store.commit(Commit(claim=claim))).verdict is Verdict.GO


async def test_a_dead_owners_run_is_claimed_once(store_factory: StoreFactory) -> None:
    dead, first, second = [await store_factory() for _ in range(3)]
    old = await begin(dead)
    row = await dead.get_run(RUN)
    assert row is not None
    await dead.close()
    claims = await asyncio.gather(first.take_over(row), second.take_over(row))
    (claim,) = [claim for claim in claims if claim is not None]
    assert claim == Claim(RUN, 2)
    heir = first if claims[0] else second
    found = await heir.get_run(RUN)
    assert found is not None
    assert replace(found, updated_us=0) == replace(row, claim=2, owner=heir.owner, updated_us=0)
    assert (await heir.commit(Commit(claim=old))).verdict is Verdict.LOST
    committed = await heir.commit(Commit(claim=claim, outcomes=(response("s1"),)))
    assert (committed.verdict, committed.next_seq) == (Verdict.GO, 2)


async def test_runs_of_one_dead_owner_are_claimed_side_by_side(
    store_factory: StoreFactory,
) -> None:
    dead, heir = await store_factory(), await store_factory()
    for number in range(5):
        await begin(dead, f"run-{number}")
    await dead.close()
    claims = await asyncio.gather(*(heir.take_over(row) for row in await heir.unclosed_runs()))
    assert len(claims) == 5
    assert None not in claims


async def test_a_cancelled_run_of_a_dead_owner_can_be_claimed(store_factory: StoreFactory) -> None:
    dead, heir = await store_factory(), await store_factory()
    await begin(dead)
    await heir.cancel(RUN, level=CancelLevel.BOUNDARY, by="me", reason="", at_us=7)
    await dead.close()
    (row,) = await heir.unclosed_runs()
    claim = await heir.take_over(row)
    assert claim is not None
    assert (await heir.commit(Commit(claim=claim))).verdict is Verdict.STOP


async def test_a_closed_run_is_not_claimed(store_factory: StoreFactory) -> None:
    dead, heir = await store_factory(), await store_factory()
    claim = await begin(dead)
    row = await dead.get_run(RUN)
    assert row is not None
    await dead.commit(Commit(claim=claim, close=completed()))
    await dead.close()
    assert await heir.take_over(row) is None


async def test_a_watcher_hears_of_another_stores_changes_within_20_ms(
    store: Store, store_factory: StoreFactory
) -> None:
    other = await store_factory()
    claim = await begin(other)
    heard = asyncio.Event()
    unwatch = store.watch(heard.set)
    for change in (
        other.commit(Commit(claim=claim, outcomes=(assembled(),))),
        other.append_audit(entry()),
        other.cancel(RUN, level=CancelLevel.BOUNDARY, by="me", reason="", at_us=7),
    ):
        heard.clear()
        await change
        await asyncio.wait_for(heard.wait(), 1)
    unwatch()
    heard.clear()
    await other.append_audit(entry())
    await asyncio.sleep(0.05)
    assert not heard.is_set()


async def test_a_watcher_hears_of_others_also_while_its_own_store_writes(
    store: Store, store_factory: StoreFactory
) -> None:
    other = await store_factory()
    claim = await begin(store)
    done = False

    async def write() -> None:
        while not done:
            await store.commit(Commit(claim=claim))

    writing = asyncio.create_task(write())
    heard = asyncio.Event()
    store.watch(heard.set)
    for _ in range(5):
        heard.clear()
        await other.append_audit(entry())
        await asyncio.wait_for(heard.wait(), 1)
    done = True
    await writing


async def test_a_closed_store_refuses_writes_and_closes_again(store: Store) -> None:
    claim = await begin(store)
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.commit(Commit(claim=claim))
