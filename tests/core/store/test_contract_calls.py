"""What every store does with calls that are about to be handed over."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from core.errors import AuditUnavailable
from core.model import AuditAction
from core.store import AuditQuery, Store
from tests.core.store.builders import assert_chained, entry
from tests.core.store.conftest import StoreFactory

A = AuditAction
INTENT = replace(entry(call_id="c1", run_id="run-1"), at_us=5, step="s1", method="POST", path="/v1")
EXPOSED = "The process died after the intent: outcome unknown, treat the credential as exposed"


async def test_an_intent_is_no_row(store: Store) -> None:
    await store.begin_call(INTENT)
    assert await store.audit_page(AuditQuery()) == []
    assert await store.audit_counts() == {}


async def test_a_dead_process_call_gets_the_row_that_its_intent_says(
    store_factory: StoreFactory,
) -> None:
    dead, heir = await store_factory(), await store_factory()
    await heir.append_audit(entry())
    await dead.begin_call(INTENT)
    await dead.close()
    rows = await heir.close_interrupted(77)
    assert await heir.audit_page(AuditQuery(actions=(A.HTTP_CALL_INTERRUPTED,))) == rows
    (row,) = rows
    assert row == replace(
        row,
        seq=2,
        at_us=77,
        action=A.HTTP_CALL_INTERRUPTED,
        success=False,
        status=0,
        method="POST",
        host="api.test",
        path="/v1",
        credential="demo",
        run_id="run-1",
        step="s1",
        call_id="c1",
        actor="me",
        message=EXPOSED,
    )
    assert_chained((await heir.audit_page(AuditQuery()))[::-1], heir.database_id)
    assert await heir.close_interrupted(78) == []


async def test_without_a_credential_none_is_called_exposed(store_factory: StoreFactory) -> None:
    dead, heir = await store_factory(), await store_factory()
    await dead.begin_call(replace(INTENT, credential=None))
    await dead.close()
    (row,) = await heir.close_interrupted(77)
    assert row.message == "The process died after the intent: outcome unknown"


async def test_a_living_process_calls_are_left_alone(store_factory: StoreFactory) -> None:
    store, other = await store_factory(), await store_factory()
    await store.begin_call(INTENT)
    await other.begin_call(replace(INTENT, call_id="c2"))
    assert await store.close_interrupted(77) == []
    assert await other.close_interrupted(77) == []
    await other.close()
    (row,) = await store.close_interrupted(78)
    assert row.call_id == "c2"


@pytest.mark.parametrize("begun", [1, 2])
async def test_a_calls_row_takes_its_intent_away(store_factory: StoreFactory, begun: int) -> None:
    dead, heir = await store_factory(), await store_factory()
    for _ in range(begun):
        await dead.begin_call(INTENT)
    await dead.begin_call(replace(INTENT, call_id="c2"))
    row = await dead.append_audit(entry(call_id="c1"))
    await dead.close()
    (interrupted,) = await heir.close_interrupted(77)
    assert interrupted.call_id == "c2"
    assert await heir.audit_page(AuditQuery()) == [interrupted, row]


async def test_an_intent_that_comes_after_its_row_is_none(store_factory: StoreFactory) -> None:
    dead, heir = await store_factory(), await store_factory()
    first = await dead.append_audit(entry(call_id="c1"))
    await dead.begin_call(INTENT)
    await dead.close()
    assert await heir.close_interrupted(77) == []
    assert await heir.audit_page(AuditQuery()) == [first]


async def test_a_row_that_comes_twice_leaves_no_intent(store_factory: StoreFactory) -> None:
    dead, heir = await store_factory(), await store_factory()
    await dead.begin_call(INTENT)
    first = await dead.append_audit(entry(call_id="c1"))
    assert await dead.append_audit(entry(call_id="c1")) == first
    await dead.close()
    assert await heir.close_interrupted(77) == []


async def test_the_first_row_stands_when_a_later_outcome_comes(store_factory: StoreFactory) -> None:
    dead, heir = await store_factory(), await store_factory()
    await dead.begin_call(INTENT)
    await dead.close()
    (row,) = await heir.close_interrupted(77)
    assert await heir.append_audit(entry(call_id="c1")) == row


async def test_two_that_close_the_same_calls_write_each_row_once(
    store_factory: StoreFactory,
) -> None:
    dead, first, second = [await store_factory() for _ in range(3)]
    for number in range(20):
        await dead.begin_call(replace(INTENT, call_id=f"c{number}", at_us=number))
    await dead.close()
    both = await asyncio.gather(*(each.close_interrupted(77) for each in (first, second, first)))
    closed = [row.call_id for rows in both for row in rows]
    assert sorted(map(str, closed)) == sorted(f"c{number}" for number in range(20))
    rows = (await first.audit_page(AuditQuery()))[::-1]
    assert [row.call_id for row in rows] == [f"c{number}" for number in range(20)]
    assert_chained(rows, first.database_id)


async def test_a_closed_store_refuses_intents(store: Store) -> None:
    await store.close()
    with pytest.raises(AuditUnavailable):
        await store.begin_call(INTENT)
    with pytest.raises(AuditUnavailable):
        await store.close_interrupted(1)
