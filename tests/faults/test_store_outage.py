"""The store when its disk, its files or another process fail it."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import AuditUnavailable, StoreUnavailable
from core.model import AuditAction, AuditEntry, AuditRow, CancelLevel
from core.store import AuditQuery, Commit, SqliteStore, Verdict, open_sqlite
from core.store.sqlite._driver import connect
from tests.core.store.builders import (
    RUN,
    assert_chained,
    begin,
    entry,
    response,
    seal,
)
from tests.core.store.child import Child


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = await open_sqlite(path, seal=seal)
    yield store
    await store.close()


async def available(store: SqliteStore) -> None:
    deadline = time.monotonic() + 10
    while not store.audit_available:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def assert_recovered(store: SqliteStore, *, rows: int) -> None:
    """The outage is one row of an unbroken chain, and everything works again."""
    await available(store)
    await store.append_audit(entry())
    log = (await store.audit_page(AuditQuery(), limit=1000))[::-1]
    outages = [row for row in log if row.action is AuditAction.AUDIT_OUTAGE]
    assert [row.message for row in outages] == ["Audit unavailable; calls were refused"]
    assert not outages[0].success
    assert len(log) == rows + 2
    assert_chained(log, store.database_id)


@pytest.fixture
def no_space() -> Iterator[Callable[[bool], None]]:
    """Make every write to a file beyond its first kilobyte fail, in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(on: bool) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024 if on else soft, hard))

    yield limit
    limit(False)
    signal.signal(signal.SIGXFSZ, before)


async def test_a_disk_without_space_refuses_at_once_and_reads_go_on(
    store: SqliteStore, no_space: Callable[[bool], None]
) -> None:
    claim = await begin(store)
    await store.append_audit(entry())
    no_space(True)
    began = time.monotonic()
    with pytest.raises(AuditUnavailable) as caught:
        await store.append_audit(entry(call_id="c1"))
    assert caught.value.where == str(store.path)
    assert caught.value.hint
    assert not store.audit_available
    with pytest.raises(StoreUnavailable):
        await store.commit(Commit(claim=claim, outcomes=(response("s1"),)))
    results = await asyncio.gather(
        *(store.append_audit(entry()) for _ in range(50)),
        *(store.begin_call(entry(call_id=str(number))) for number in range(50)),
        return_exceptions=True,
    )
    assert {type(result) for result in results} == {AuditUnavailable}
    assert time.monotonic() - began < 2
    assert len(await store.audit_page(AuditQuery())) == 1
    assert await store.get_run(RUN) is not None
    await asyncio.sleep(1.2)  # a probe fails meanwhile
    assert not store.audit_available
    no_space(False)
    await assert_recovered(store, rows=1)
    committed = await store.commit(Commit(claim=claim, outcomes=(response("s1"),), replay_from=1))
    assert (committed.verdict, committed.next_seq) == (Verdict.GO, 2)


async def test_a_call_whose_intent_finds_no_space_is_refused_at_once(
    store: SqliteStore, no_space: Callable[[bool], None]
) -> None:
    told: list[bool] = []
    no_space(True)
    began = time.monotonic()
    with pytest.raises(AuditUnavailable) as caught:
        await store.begin_call(entry(call_id="c1"))
    assert time.monotonic() - began < 2
    assert caught.value.where == str(store.path)
    assert not store.audit_available
    assert await store.close_interrupted(7) == []
    store.watch_audit(lambda: told.append(store.audit_available))
    no_space(False)
    await available(store)
    deadline = time.monotonic() + 5
    while not told:  # of the outage's row
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    await assert_recovered(store, rows=0)
    await store.begin_call(entry(call_id="c1"))
    assert (await store.append_audit(entry(call_id="c1"))).seq == 3


async def test_interrupted_calls_wait_until_the_outage_is_over(
    path: Path, store: SqliteStore, no_space: Callable[[bool], None]
) -> None:
    dead = await open_sqlite(path, seal=seal)
    await dead.begin_call(entry(call_id="c1"))
    await dead.close()
    no_space(True)
    with pytest.raises(AuditUnavailable):
        await store.close_interrupted(7)
    no_space(False)
    await available(store)
    assert [row.call_id for row in await store.close_interrupted(8)] == ["c1"]


def unlink_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def unlink_database(path: Path) -> None:
    path.unlink()


def replace_database(path: Path) -> None:
    path.rename(path.with_name("old.db"))
    shutil.copyfile(path.with_name("old.db"), path)


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


@pytest.mark.parametrize("remove", [unlink_log, unlink_database, replace_database, move_folder])
async def test_nothing_is_acknowledged_into_a_file_that_is_gone(
    tmp_path: Path, remove: Callable[[Path], None]
) -> None:
    path = tmp_path / "data" / "x.db"
    store = await open_sqlite(path, seal=seal)
    claim = await begin(store)
    remove(path)
    with pytest.raises(StoreUnavailable) as caught:
        await store.commit(Commit(claim=claim, outcomes=(response("s1"),)))
    assert "removed or replaced" in caught.value.what
    with pytest.raises(AuditUnavailable):
        await store.append_audit(entry())
    assert not store.audit_available
    await store.close()


async def test_a_frozen_writer_is_named(store: SqliteStore, path: Path) -> None:
    claim = await begin(store)
    with Child("hold", path) as child:
        assert await asyncio.to_thread(child.line) == "frozen"
        began = time.monotonic()
        with pytest.raises(StoreUnavailable) as caught:
            await store.commit(Commit(claim=claim, outcomes=(response("s1"),)))
        assert time.monotonic() - began < 2
        assert str(child.pid) in caught.value.what
        assert f"kill -CONT {child.pid}" in caught.value.hint
        assert not store.audit_available
        with pytest.raises(AuditUnavailable):
            await store.append_audit(entry())
        with pytest.raises(AuditUnavailable):
            await store.begin_call(entry(call_id="c1"))
        assert await store.get_run(RUN) is not None
        os.kill(child.pid, signal.SIGCONT)
        assert await asyncio.to_thread(child.read) == ["thawed"]
    await assert_recovered(store, rows=0)
    committed = await store.commit(Commit(claim=claim, outcomes=(response("s1"),), replay_from=1))
    assert (committed.verdict, committed.next_seq) == (Verdict.GO, 2)


async def test_a_frozen_writer_lets_others_open_and_read(path: Path) -> None:
    first = await open_sqlite(path, seal=seal)
    await begin(first)
    await first.close()
    with Child("hold", path) as child:
        assert await asyncio.to_thread(child.line) == "frozen"
        began = time.monotonic()
        store = await open_sqlite(path, seal=seal)
        assert await store.get_run(RUN) is not None
        assert time.monotonic() - began < 4
        with pytest.raises(StoreUnavailable) as caught:
            await store.cancel(RUN, level=CancelLevel.BOUNDARY, by="me", reason="", at_us=1)
        assert str(child.pid) in caught.value.what
        os.kill(child.pid, signal.SIGCONT)
        assert await asyncio.to_thread(child.read) == ["thawed"]
        await available(store)
        receipt = await store.cancel(RUN, level=CancelLevel.BOUNDARY, by="me", reason="", at_us=1)
        assert receipt.changed
        await store.close()


async def test_a_database_that_cannot_be_made_now_is_unavailable_not_unusable(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.store.sqlite._open._OPEN_WITHIN", 0.1)
    connection = connect(path, options="mode=rwc")
    connection.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreUnavailable) as caught:
        await open_sqlite(path, seal=seal)
    assert caught.value.where == str(path)
    connection.close()
    store = await open_sqlite(path, seal=seal)
    await store.close()


async def test_a_disk_that_does_not_answer_refuses_a_call_within_2_s(path: Path) -> None:
    go_on = threading.Event()

    def slow(database_id: str, _: str | None) -> Any:
        inner = seal(database_id)

        def sealed(previous: bytes | None, seq: int, item: AuditEntry) -> AuditRow:
            if item.call_id is not None:  # else it is the store that asks for the key's name
                go_on.wait(20)
            return inner(previous, seq, item)

        return sealed

    store = await open_sqlite(path, seal=slow)
    began = time.monotonic()
    waiting: list[asyncio.Task[object]] = [
        asyncio.create_task(store.append_audit(entry(call_id=str(n)))) for n in range(3)
    ]
    waiting.append(asyncio.create_task(store.begin_call(entry(call_id="late"))))
    for task in waiting:
        with pytest.raises(AuditUnavailable):
            await task
    assert 1.5 < time.monotonic() - began < 2.9
    assert not store.audit_available
    go_on.set()
    rows = await asyncio.gather(*(store.append_audit(entry(call_id=str(n))) for n in range(3)))
    assert [row.seq for row in rows] == [1, 2, 3]
    assert store.audit_available
    await store.close()


async def test_followers_hear_of_what_was_stored_although_the_answer_was_lost(path: Path) -> None:
    folder = path.parent / "here"
    folder.mkdir()
    store = await open_sqlite(folder / "x.db", seal=seal)
    heard: list[int | None] = []
    store.subscribe(lambda events: heard.extend(event.seq for event in events))
    claim = await begin(store)
    commit = Commit(claim=claim, outcomes=(response("s1"),))
    folder.rename(path.parent / "away")
    with pytest.raises(StoreUnavailable):
        await store.commit(commit)
    told = list(heard)
    (path.parent / "away").rename(folder)
    await available(store)
    again = await store.commit(replace(commit, replay_from=1))
    assert [event.seq for event in again.events] == [1]
    assert heard == [*told, 1]
    assert [event.seq for event in await store.read_events(RUN, after=-1, limit=9)] == [0, 1]
    await store.close()
