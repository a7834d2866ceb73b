"""The writer: groups, poison, cancelled callers, back-pressure, closing."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.errors import AuditUnavailable, StoreError, StoreUnavailable, UnknownRun
from core.model import AuditEntry, AuditRow, CancelLevel, Event
from core.store import AuditQuery, Commit, SqliteStore, Verdict, open_sqlite
from core.store.sqlite._driver import connect, data_version
from tests.core.store.builders import (
    RUN,
    assert_chained,
    begin,
    entry,
    request,
    response,
    rotation,
    seal,
    secret,
)


@pytest.fixture
async def store(tmp_path: Path) -> Any:
    store = await open_sqlite(tmp_path / "x.db", seal=seal)
    yield store
    await store.close()


async def all_rows(store: SqliteStore) -> list[AuditRow]:
    return (await store.audit_page(AuditQuery(), limit=100_000))[::-1]


async def test_waiting_callers_share_a_commit(store: SqliteStore) -> None:
    before = store._writer.tick
    await asyncio.gather(*(store.append_audit(entry()) for _ in range(256)))
    commits = (store._writer.tick - before) // 2
    assert commits <= 8
    assert_chained(await all_rows(store), store.database_id)


async def test_a_bad_write_does_not_take_its_neighbours_along(store: SqliteStore) -> None:
    claims = [await begin(store, f"run-{number}") for number in range(6)]
    await store.commit(Commit(claim=claims[3], intents=(request("s1", "run-3"),)))

    def commit(number: int) -> Commit:
        run_id = f"run-{number}"
        return Commit(claim=claims[number], intents=(request("s1", run_id),))

    seen: list[str] = []
    store.subscribe(lambda events: seen.extend(event.run_id for event in events))
    results = await asyncio.gather(
        *(store.commit(commit(number)) for number in range(6)),
        store.append_audit(entry()),
        store.cancel("nope", level=CancelLevel.ABORT, by="me", reason="", at_us=1),
        store.append_audit(entry()),
        return_exceptions=True,
    )
    kinds = [type(result) for result in results]
    assert kinds[3] is StoreError
    assert kinds[7] is UnknownRun
    assert [number for number in range(9) if isinstance(results[number], BaseException)] == [3, 7]
    assert seen == ["run-0", "run-1", "run-2", "run-4", "run-5"]
    rows = await all_rows(store)
    assert len(rows) == 2
    assert_chained(rows, store.database_id)


async def test_an_error_of_the_seal_reaches_its_own_caller_alone(tmp_path: Path) -> None:
    def picky(database_id: str, _: str | None) -> Any:
        inner = seal(database_id)

        def sealed(previous: bytes | None, seq: int, item: AuditEntry) -> AuditRow:
            if item.message == "bad":
                raise ValueError("no such entry")
            return inner(previous, seq, item)

        return sealed

    store = await open_sqlite(tmp_path / "x.db", seal=picky)
    results = await asyncio.gather(
        store.append_audit(entry()),
        store.append_audit(entry(message="bad")),
        store.append_audit(entry()),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [AuditRow, ValueError, AuditRow]
    assert store.audit_available
    assert_chained(await all_rows(store), store.database_id)
    await store.close()


async def test_cancelling_callers_cancels_no_write(store: SqliteStore) -> None:
    chance = random.Random(7)
    tasks = [
        asyncio.create_task(store.append_audit(entry(call_id=str(number))))
        for number in range(3000)
    ]
    await asyncio.sleep(0)  # all are handed in now
    for task in chance.sample(tasks, 1500):
        task.cancel()
        if chance.random() < 0.1:
            await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    acknowledged = [result for result in results if isinstance(result, AuditRow)]
    assert 1500 <= len(acknowledged) < 3000
    assert len(await all_rows(store)) == 3000
    again = await asyncio.gather(
        *(store.append_audit(entry(call_id=str(number))) for number in range(3000))
    )
    assert [row.seq for row in sorted(again, key=lambda row: row.seq)] == [*range(1, 3001)]
    for result, row in zip(results, again, strict=True):
        assert isinstance(result, asyncio.CancelledError) or result == row
    assert_chained(await all_rows(store), store.database_id)


async def test_a_cancelled_caller_leaves_no_transaction_behind(
    store: SqliteStore, tmp_path: Path
) -> None:
    other = connect(tmp_path / "x.db")
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(store.append_audit(entry()))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    other.execute("ROLLBACK")
    await store.append_audit(entry())
    other.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")
    other.close()
    assert len(await all_rows(store)) == 2


async def test_more_callers_than_there_is_room_for_wait_and_lose_nothing(
    store: SqliteStore,
) -> None:
    rows = await asyncio.gather(*(store.append_audit(entry()) for _ in range(9000)))
    assert sorted(row.seq for row in rows) == [*range(1, 9001)]


async def test_a_failing_subscriber_stops_neither_the_writer_nor_the_others(
    store: SqliteStore,
) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: reported.append(dict(context))
    )
    seen: list[Event] = []

    def fail(_: Sequence[Event]) -> None:
        raise RuntimeError("subscriber")

    store.subscribe(fail)
    store.subscribe(seen.extend)
    await begin(store)
    assert len(seen) == 1
    assert [str(context["exception"]) for context in reported] == ["subscriber"]


async def test_closing_finishes_what_was_handed_in(tmp_path: Path) -> None:
    store = await open_sqlite(tmp_path / "x.db", seal=seal)
    tasks = [asyncio.create_task(store.append_audit(entry())) for _ in range(500)]
    await asyncio.sleep(0)
    await store.close()
    assert len(await asyncio.gather(*tasks)) == 500
    with pytest.raises(StoreUnavailable):
        await store.get_run(RUN)
    for thread in threading.enumerate():
        if thread.name == "store-writer":
            thread.join(2)
            assert not thread.is_alive()


async def test_who_waits_for_a_disk_that_hangs_hears_of_it_also_at_the_close(
    tmp_path: Path,
) -> None:
    store = await open_sqlite(tmp_path / "x.db", seal=seal)
    answer = threading.Event()
    hung = asyncio.create_task(store._write(lambda _: answer.wait(), durable=False))
    row = asyncio.create_task(store.append_audit(entry()))
    await asyncio.sleep(0)
    await store.close()
    async with asyncio.timeout(5):
        with pytest.raises(AuditUnavailable):
            await row
    answer.set()
    assert await hung


async def test_a_failing_watcher_does_not_keep_the_others_from_hearing(
    store: SqliteStore, tmp_path: Path
) -> None:
    heard = asyncio.Event()
    faults: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: faults.append(context["message"])
    )

    def fail() -> None:
        raise ValueError

    store.watch(fail)
    store.watch(heard.set)
    other = await open_sqlite(tmp_path / "x.db", seal=seal)
    await other.append_audit(entry())
    async with asyncio.timeout(5):
        await heard.wait()
    assert faults[0] == "A watcher of the store failed"
    await other.close()


def test_a_store_can_be_closed_after_its_loop_is_gone(tmp_path: Path) -> None:
    async def leave() -> SqliteStore:
        store = await open_sqlite(tmp_path / "x.db", seal=seal)
        task = asyncio.create_task(store.append_audit(entry()))
        await asyncio.sleep(0)
        task.cancel()
        return store

    store = asyncio.run(leave())
    asyncio.run(store.close())
    assert sorted(path.name for path in tmp_path.glob("x.db-*")) == []
    connection = connect(tmp_path / "x.db")
    assert connection.execute("SELECT count(*) FROM audit").fetchone() == (1,)
    connection.close()


async def test_reading_takes_no_cursor_across_an_await(store: SqliteStore, tmp_path: Path) -> None:
    """A reader that pinned the log would keep a checkpoint from finishing."""
    claim = await begin(store)
    for step in range(50):
        await store.commit(Commit(claim=claim, outcomes=(response(f"s{step}"),)))
        await store.read_events(RUN, after=-1, limit=3)
        await store.list_runs(limit=1)
    connection = connect(tmp_path / "x.db")
    busy, log, done = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.close()
    assert (busy, log, done) == (0, 0, 0)


@pytest.mark.parametrize(("durable", "synchronous"), [(True, 2), (False, 1)])
async def test_a_durable_commit_is_synced_to_the_disk(
    store: SqliteStore, durable: bool, synchronous: int
) -> None:
    claim = await begin(store)
    chosen: list[int] = []

    def spy(transaction: Any) -> None:
        chosen.extend(transaction.connection.execute("PRAGMA synchronous").fetchone())

    await asyncio.gather(
        store.commit(Commit(claim=claim, durable=durable)),
        store._write(spy, durable=False),
        store.commit(Commit(claim=claim)),
    )
    assert chosen == [synchronous]


async def begin_call(store: SqliteStore) -> None:
    await store.begin_call(entry(call_id="c1"))


async def append_row(store: SqliteStore) -> object:
    return await store.append_audit(entry(call_id="c1"))


async def close_calls(store: SqliteStore) -> object:
    return await store.close_interrupted(1)


async def put_secret(store: SqliteStore) -> object:
    return await store.put_secret(secret("b"), entry())


async def delete_secret(store: SqliteStore) -> object:
    return await store.delete_secret("a", entry())


async def rotate_key(store: SqliteStore) -> object:
    made = rotation(store, await store.list_secrets(), "m1", before="m1", after="k2")
    return await store.rotate_key(made)


@pytest.mark.parametrize(
    "write", [begin_call, append_row, close_calls, put_secret, delete_secret, rotate_key]
)
async def test_what_the_log_and_the_vault_acknowledge_survives_a_power_cut(
    store: SqliteStore, tmp_path: Path, write: Callable[[SqliteStore], Awaitable[object]]
) -> None:
    dead = await open_sqlite(tmp_path / "x.db", seal=seal)
    await dead.begin_call(entry(call_id="c2"))
    await dead.close()
    await store.put_secret(secret("a"), entry())
    await begin(store)  # what need not be durable
    modes: list[str] = []
    connection = store._writer._transactor._connection
    connection.set_trace_callback(modes.append)
    await write(store)
    connection.set_trace_callback(None)
    assert modes[:2] == ["PRAGMA synchronous = FULL", "BEGIN IMMEDIATE"]


async def test_nobody_polls_while_nobody_watches(store: SqliteStore, tmp_path: Path) -> None:
    unwatch = store.watch(lambda: None)
    unwatch()
    await asyncio.sleep(0.03)
    seen = store._watch._seen
    other = connect(tmp_path / "x.db")
    before = data_version(other)
    await store.append_audit(entry())
    assert data_version(other) != before
    other.close()
    await asyncio.sleep(0.03)
    assert store._watch._seen == seen


async def test_own_commits_are_no_hints(store: SqliteStore) -> None:
    claim = await begin(store)
    hints: list[None] = []
    store.watch(lambda: hints.append(None))
    await asyncio.sleep(0.03)
    hints.clear()
    for _ in range(30):
        assert (await store.commit(Commit(claim=claim))).verdict is Verdict.GO
        await asyncio.sleep(0.002)
    await asyncio.sleep(0.03)
    assert hints == []
