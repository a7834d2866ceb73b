"""What every store does with audit rows and secrets."""

from __future__ import annotations

import asyncio

import pytest

from core.model import AuditAction
from core.store import AuditQuery, Store
from tests.core.store.builders import assert_chained, entry, secret
from tests.core.store.conftest import StoreFactory

A = AuditAction


async def fill(store: Store) -> None:
    for number in range(12):
        await store.append_audit(
            entry(
                (A.HTTP_CALL, A.HTTP_CALL_CANCELLED, A.SECRET_READ)[number % 3],
                at_us=100 + number,
                run_id=f"run-{number % 2}",
            )
        )


async def test_rows_are_sealed_and_numbered_from_one(store: Store) -> None:
    rows = [await store.append_audit(entry(call_id=f"c{number}")) for number in range(3)]
    assert [row.seq for row in rows] == [1, 2, 3]
    assert await store.audit_page(AuditQuery()) == rows[::-1]
    assert_chained(rows, store.database_id)


async def test_rows_of_many_callers_and_two_stores_are_one_chain(
    store: Store, store_factory: StoreFactory
) -> None:
    other = await store_factory()
    await asyncio.gather(
        *(each.append_audit(entry(at_us=number)) for number in range(40) for each in (store, other))
    )
    rows = await store.audit_page(AuditQuery(), limit=1000)
    assert [row.seq for row in rows] == [*range(80, 0, -1)]
    assert_chained(rows[::-1], store.database_id)


async def test_a_call_has_one_row(store: Store, store_factory: StoreFactory) -> None:
    other = await store_factory()
    first = await store.append_audit(entry(call_id="c1"))
    await store.append_audit(entry(call_id="c2"))
    again = await other.append_audit(entry(A.HTTP_CALL_CANCELLED, call_id="c1", at_us=999))
    assert again == first
    rows = await asyncio.gather(*(store.append_audit(entry(call_id="c3")) for _ in range(5)))
    assert {row.seq for row in rows} == {3}
    assert await store.audit_counts() == {A.HTTP_CALL: 3}


async def test_entries_without_a_call_are_all_kept(store: Store) -> None:
    await store.append_audit(entry())
    await store.append_audit(entry())
    assert await store.audit_count(AuditQuery()) == 2


@pytest.mark.parametrize(
    ("query", "seqs"),
    [
        (AuditQuery(), [*range(12, 0, -1)]),
        (AuditQuery(actions=(A.HTTP_CALL,)), [10, 7, 4, 1]),
        (AuditQuery(actions=(A.HTTP_CALL, A.SECRET_READ)), [12, 10, 9, 7, 6, 4, 3, 1]),
        (AuditQuery(actions=(A.SECRET_DELETED,)), []),
        (AuditQuery(actions=(A.SECRET_DELETED, A.SECRET_READ)), [12, 9, 6, 3]),
        (AuditQuery(run_id="run-0"), [11, 9, 7, 5, 3, 1]),
        (AuditQuery(run_id="run-0", actions=(A.HTTP_CALL, A.SECRET_READ)), [9, 7, 3, 1]),
        (AuditQuery(since_us=103, until_us=106), [6, 5, 4]),
        (
            AuditQuery(since_us=103, actions=(A.HTTP_CALL, A.HTTP_CALL_CANCELLED)),
            [11, 10, 8, 7, 5, 4],
        ),
        (AuditQuery(until_us=100), []),
        (AuditQuery(run_id="nope"), []),
    ],
)
async def test_a_query_is_paged_newest_first_and_counted(
    store: Store, query: AuditQuery, seqs: list[int]
) -> None:
    await fill(store)
    assert [row.seq for row in await store.audit_page(query)] == seqs
    assert await store.audit_count(query) == len(seqs)
    found = [row.seq for row in await store.audit_page(query, skip=1, limit=2)]
    assert found == seqs[1:3]
    paged: list[int] = []
    before = None
    while rows := await store.audit_page(query, before=before, limit=2):
        paged += [row.seq for row in rows]
        before = rows[-1].seq
    assert paged == seqs
    below = [row.seq for row in await store.audit_page(query, before=8, skip=1, limit=2)]
    assert below == [seq for seq in seqs if seq < 8][1:3]


async def test_a_window_of_time_is_exact_although_the_clock_was_set_back(store: Store) -> None:
    times = [*range(1000, 4000), *range(500, 3000)]
    await asyncio.gather(*(store.append_audit(entry(at_us=at_us)) for at_us in times))
    rows = await store.audit_page(AuditQuery(), limit=10_000)
    for since, until in ((None, 510), (900, 1010), (2990, 3010), (3990, None), (9999, None)):
        query = AuditQuery(since_us=since, until_us=until)
        wanted = [
            row.seq
            for row in rows
            if (since is None or row.at_us >= since) and (until is None or row.at_us < until)
        ]
        found = await store.audit_page(query, limit=10_000)
        assert [row.seq for row in found] == wanted
        assert await store.audit_count(query) == len(wanted)


async def test_counts_by_action_leave_out_what_has_no_rows(store: Store) -> None:
    assert await store.audit_counts() == {}
    await fill(store)
    assert await store.audit_counts() == {
        A.HTTP_CALL: 4,
        A.HTTP_CALL_CANCELLED: 4,
        A.SECRET_READ: 4,
    }


async def test_every_action_can_be_stored(store: Store) -> None:
    for action in AuditAction:
        await store.append_audit(entry(action))
    assert {row.action for row in await store.audit_page(AuditQuery())} == set(AuditAction)


async def test_a_secret_is_put_replaced_listed_and_deleted_with_its_rows(store: Store) -> None:
    assert await store.put_secret(secret("b"), entry(A.SECRET_CREATED))
    assert await store.put_secret(secret("a"), entry(A.SECRET_CREATED))
    assert await store.put_secret(secret("b", version=2), entry(A.SECRET_UPDATED))
    for version in (1, 2, 4):
        assert not await store.put_secret(secret("b", version=version), entry(A.SECRET_UPDATED))
    assert await store.get_secret("b") == secret("b", version=2)
    assert await store.get_secret("c") is None
    assert await store.list_secrets() == [secret("a"), secret("b", version=2)]
    assert await store.delete_secret("a", entry(A.SECRET_DELETED))
    assert not await store.delete_secret("a", entry(A.SECRET_DELETED))
    assert await store.list_secrets() == [secret("b", version=2)]
    rows = await store.audit_page(AuditQuery())
    assert [row.action for row in rows] == [
        A.SECRET_DELETED,
        A.SECRET_UPDATED,
        A.SECRET_CREATED,
        A.SECRET_CREATED,
    ]
