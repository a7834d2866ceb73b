"""Processes that die or crowd: no acknowledged row is lost, every stream stays whole."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from core.model import CancelLevel, EventKind, Request, Response, RunStatus
from core.store import AuditQuery, Commit, SqliteStore, Verdict, open_sqlite
from tests.core.store.builders import assert_chained, entry, failed, seal
from tests.core.store.child import Child, write_and_be_killed
from tests.faults.forks import fork, wait_for_rows


def acknowledged_rows(file: Path) -> dict[str, list[tuple[str, int]]]:
    rows: dict[str, list[tuple[str, int]]] = {"run": [], "audit": []}
    whole = file.read_text().rpartition("\n")[0]
    for line in whole.splitlines():
        kind, name, seq = line.split()
        rows[kind].append((name, int(seq)))
    return rows


async def check_run(store: SqliteStore, run_id: str, acknowledged: set[int]) -> None:
    events = await store.read_events(run_id, after=-1, limit=100_000)
    run = await store.get_run(run_id)
    assert run is not None
    assert [event.seq for event in events] == [*range(run.next_seq)]
    assert acknowledged <= {event.seq for event in events}
    intents = [event.step for event in events if isinstance(event, Request)]
    ended = [event.step for event in events if isinstance(event, Response)]
    assert len(set(intents)) == len(intents)
    assert [step.step for step in run.open_steps] == intents[len(ended) :]
    assert run.usage.requests == len(ended)


async def close_left_runs(store: SqliteStore) -> None:
    for run in await store.unclosed_runs():
        claim = await store.take_over(run)
        assert claim is not None
        committed = await store.commit(Commit(claim=claim, close=failed(run.run_id)))
        assert (committed.verdict, committed.closed) == (Verdict.GO, True)


@pytest.mark.timeout(900)
async def test_a_kill_at_any_moment_loses_no_acknowledged_row(tmp_path: Path, soak: bool) -> None:
    database = tmp_path / "x.db"
    chance = random.Random(20)
    for attempt in range(150 if soak else 20):
        writers = 1 + attempt % 2
        files = [tmp_path / f"acknowledged-{attempt}-{number}" for number in range(writers)]
        bystander = await open_sqlite(database, seal=seal) if attempt % 3 == 0 else None
        children = [fork(write_and_be_killed, database, file) for file in files]
        for file in files:
            await wait_for_rows(file, chance.randrange(1, 200))
        for child in children:
            child.kill()
        for child in children:
            await asyncio.to_thread(child.join)
        store = bystander or await open_sqlite(database, seal=seal)
        assert await store.check() == []
        for file in files:
            rows = acknowledged_rows(file)
            for run_id in {run_id for run_id, _ in rows["run"]}:
                seqs = {seq for name, seq in rows["run"] if name == run_id}
                await check_run(store, run_id, seqs)
            for call_id, seq in rows["audit"]:
                (row,) = await store.audit_page(AuditQuery(), before=seq + 1, limit=1)
                assert (row.seq, row.call_id) == (seq, call_id)
        await close_left_runs(store)
        assert await store.unclosed_runs() == []
        await store.close()
    store = await open_sqlite(database, seal=seal)
    log = (await store.audit_page(AuditQuery(), limit=1_000_000))[::-1]
    assert_chained(log, store.database_id)
    assert {run.status for run in await store.list_runs(limit=10_000)} == {RunStatus.FAILED}
    await store.close()


async def test_four_processes_at_once_write_one_chain_and_dense_streams(tmp_path: Path) -> None:
    database, rows = tmp_path / "x.db", 40
    argument = f"{rows}@{time.time() + 1.5}"
    with ExitStack() as stack:
        children = [stack.enter_context(Child("append", database, argument)) for _ in range(4)]
        said = [await asyncio.to_thread(child.read) for child in children]
        assert [child.wait() for child in children] == [0] * 4
    assert all(float(slowest) < 1500 for (slowest,) in said)
    store = await open_sqlite(database, seal=seal)
    log = (await store.audit_page(AuditQuery(), limit=100_000))[::-1]
    assert [row.seq for row in log] == [*range(1, 4 * 8 * rows + 1)]
    assert_chained(log, store.database_id)
    runs = await store.list_runs(limit=1000)
    assert len(runs) == 32
    for run in runs:
        events = await store.read_events(run.run_id, after=-1, limit=1000)
        assert [event.seq for event in events] == [*range(rows + 1)]
    assert await store.check() == []
    await store.close()


async def test_a_killed_writer_does_not_block_the_next_one(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    store = await open_sqlite(database, seal=seal)
    with Child("hold", database) as child:
        assert await asyncio.to_thread(child.line) == "frozen"
        child.kill()
        child.wait()
        began = time.monotonic()
        await store.append_audit(entry())
        assert time.monotonic() - began < 1
    await store.close()


@pytest.mark.parametrize("level", list(CancelLevel))
async def test_a_cancel_from_here_stops_a_run_driven_elsewhere(
    tmp_path: Path, level: CancelLevel
) -> None:
    database, file = tmp_path / "x.db", tmp_path / "acknowledged"
    store = await open_sqlite(database, seal=seal)
    child = fork(write_and_be_killed, database, file)
    await wait_for_rows(file, 40)
    run_id = acknowledged_rows(file)["run"][0][0]
    receipt = await store.cancel(run_id, level=level, by="me", reason="", at_us=1)
    assert receipt.changed
    seen = receipt.in_flight
    await wait_for_rows(file, file.read_bytes().count(b"\n") + 20)
    child.kill()
    await asyncio.to_thread(child.join)
    events = await store.read_events(run_id, after=-1, limit=100_000)
    kinds = [event.kind for event in events]
    assert [event.seq for event in events] == [*range(len(events))]
    cut = kinds.index(EventKind.CANCEL_REQUESTED)
    assert EventKind.REQUEST not in kinds[cut:]
    open_before = kinds[:cut].count(EventKind.REQUEST) - kinds[:cut].count(EventKind.RESPONSE)
    assert len(seen) == open_before
    await store.close()
