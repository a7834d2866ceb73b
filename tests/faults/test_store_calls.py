"""Processes that die in a call: each call has one row, and a living process keeps its own."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from core.model import AuditAction, AuditRow
from core.store import AuditQuery, SqliteStore, open_sqlite
from tests.core.store.builders import assert_chained, entry, seal
from tests.core.store.child import Child, call_and_be_killed
from tests.faults.forks import fork, wait_for_rows

INTERRUPTED, CALL = AuditAction.HTTP_CALL_INTERRUPTED, AuditAction.HTTP_CALL


def said(file: Path) -> dict[str, set[str]]:
    calls: dict[str, set[str]] = {"tried": set(), "begun": set(), "ended": set()}
    for line in file.read_text().rpartition("\n")[0].splitlines():
        word, call_id, *_ = line.split()
        calls[word].add(call_id)
    return calls


async def log_of(store: SqliteStore) -> list[AuditRow]:
    rows = (await store.audit_page(AuditQuery(), limit=1_000_000))[::-1]
    assert_chained(rows, store.database_id)
    return rows


async def test_a_kill_between_intent_and_row_leaves_one_row(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    with Child("call", database, "c1") as child:
        assert await asyncio.to_thread(child.line) == "begun"
        bystander = await open_sqlite(database, seal=seal)
        await bystander.begin_call(entry(call_id="c2"))
        assert await bystander.close_interrupted(1) == []
        child.kill()
        child.wait()
    heirs = [bystander, *[await open_sqlite(database, seal=seal) for _ in range(2)]]
    both = await asyncio.gather(*(heir.close_interrupted(77) for heir in heirs))
    (row,) = [row for rows in both for row in rows]
    assert (row.call_id, row.action, row.at_us, row.success) == ("c1", INTERRUPTED, 77, False)
    assert await log_of(bystander) == [row]
    assert (await bystander.append_audit(entry(call_id="c2"))).action is CALL
    for heir in heirs:
        await heir.close()


async def test_a_stopped_process_is_not_a_dead_one(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    with Child("call", database, "c1") as child:
        assert await asyncio.to_thread(child.line) == "begun"
        os.kill(child.pid, signal.SIGSTOP)
        store = await open_sqlite(database, seal=seal)
        assert await store.close_interrupted(77) == []
        os.kill(child.pid, signal.SIGCONT)
        child.kill()
        child.wait()
        assert len(await store.close_interrupted(78)) == 1
        await store.close()


async def test_looking_for_interrupted_calls_writes_nothing(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    store = await open_sqlite(database, seal=seal)
    other = await open_sqlite(database, seal=seal)
    await other.begin_call(entry(call_id="c1"))
    before = store._writer.tick
    for _ in range(3):
        assert await store.close_interrupted(77) == []
    assert store._writer.tick == before
    await store.close()
    await other.close()


@pytest.mark.timeout(900)
async def test_a_kill_at_any_moment_leaves_each_call_one_row(tmp_path: Path, soak: bool) -> None:
    database = tmp_path / "x.db"
    chance = random.Random(30)
    seen = 0
    bystander = await open_sqlite(database, seal=seal)
    await bystander.begin_call(entry(call_id="alive"))
    for attempt in range(200 if soak else 12):
        files = [tmp_path / f"said-{attempt}-{number}" for number in range(1 + attempt % 2)]
        children = [fork(call_and_be_killed, database, file) for file in files]
        for file in files:
            await wait_for_rows(file, chance.randrange(1, 120))
        # Some are closed while their process dies, some by an opener, some by two at once.
        if attempt % 3 == 0:
            await bystander.close_interrupted(attempt)
        for child in children:
            child.kill()
        for child in children:
            await asyncio.to_thread(child.join)
        heir = await open_sqlite(database, seal=seal)
        await asyncio.gather(*(each.close_interrupted(attempt) for each in (heir, bystander)))
        assert await heir.close_interrupted(attempt) == []
        total = await heir.audit_count(AuditQuery())
        added = await heir.audit_page(AuditQuery(), limit=total - seen)
        seen = total
        actions = {row.call_id: row.action for row in added}
        assert len(actions) == len(added)
        assert "alive" not in actions
        said_by = [said(file) for file in files]
        assert actions.keys() <= set().union(*(calls["tried"] for calls in said_by))
        for calls in said_by:
            assert calls["begun"] <= actions.keys()
            assert all(actions[call_id] is CALL for call_id in calls["ended"])
            never_ended = {
                call_id
                for call_id in calls["begun"] - calls["ended"]
                if int(call_id.split("-")[2]) % 5 == int(call_id.split("-")[1])
            }
            assert all(actions[call_id] is INTERRUPTED for call_id in never_ended)
        await heir.close()
    log = await log_of(bystander)
    assert len({row.call_id for row in log}) == len(log) == seen
    assert {row.action for row in log} == {CALL, INTERRUPTED}
    row = await bystander.append_audit(entry(call_id="alive"))
    assert (row.seq, row.action) == (len(log) + 1, CALL)
    assert await bystander.check() == []
    await bystander.close()
