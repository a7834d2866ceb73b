"""The tables refuse wrong states, whoever writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import StoreError
from core.model import AuditAction, CancelLevel
from core.store import AuditQuery, Commit, open_sqlite
from core.store.sqlite._driver import Connection, IntegrityError, connect
from tests.core.store.builders import (
    RUN,
    begin,
    cancelled,
    completed,
    entry,
    request,
    response,
    seal,
    tool,
)


@pytest.fixture
async def database(tmp_path: Path) -> Path:
    path = tmp_path / "x.db"
    store = await open_sqlite(path, seal=seal)
    await begin(store)
    done = await begin(store, "done")
    await store.commit(Commit(claim=done, intents=(request("s1", "done"),)))
    await store.commit(
        Commit(claim=done, outcomes=(response("s1", "done"),), close=completed("done"))
    )
    stopped = await begin(store, "stopped")
    await store.cancel("stopped", level=CancelLevel.ABORT, by="me", reason="", at_us=1)
    await store.commit(Commit(claim=stopped, close=cancelled(CancelLevel.ABORT, "stopped")))
    await store.append_audit(entry(AuditAction.SECRET_READ))
    await store.close()
    return path


@pytest.fixture
def connection(database: Path) -> Iterator[Connection]:
    connection = connect(database)
    connection.execute("PRAGMA foreign_keys = ON")
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET actor = 'you'",
        "DELETE FROM audit",
        "INSERT INTO audit SELECT seq, at_us, action, success, status, method, host, path,"
        " credential, run_id, step, call_id, actor, message, key_id, mac FROM audit",
        "INSERT INTO audit (seq, at_us, action, success, status, actor, key_id, mac)"
        " VALUES (9, 1, 'x', 1, 0, 'me', 'k', x'00')",
        "UPDATE run SET status = 'running', closed_us = NULL WHERE run_id = 'done'",
        "UPDATE run SET status = 'cancelled', cancel_us = 1, level = 1, cancel_seq = 1"
        " WHERE run_id = 'done'",
        "UPDATE run SET status = 'running', termination_reason = NULL, cancel_us = NULL,"
        " level = NULL, cancel_seq = NULL WHERE run_id = 'stopped'",
        "UPDATE run SET closed_us = NULL, end_seq = NULL WHERE run_id = 'stopped'",
        "UPDATE run SET closed_us = 5 WHERE run_id = 'done'",
        "UPDATE run SET owner = 'me' WHERE run_id = 'done'",
        "UPDATE run SET status = 'completed' WHERE run_id = 'run-1'",
        "UPDATE run SET status = 'completed', termination_reason = 'completed'"
        " WHERE run_id = 'run-1'",
        "UPDATE run SET status = 'failed', termination_reason = 'x', closed_us = 1,"
        " end_seq = 5, owner = NULL WHERE run_id = 'run-1'",
        # The end that the row names is no event.
        "UPDATE run SET status = 'failed', termination_reason = 'x', closed_us = 1,"
        " end_seq = 5, next_seq = 6, owner = NULL WHERE run_id = 'run-1'",
        "UPDATE run SET closed_us = 1, end_seq = 0 WHERE run_id = 'run-1'",
        "UPDATE run SET termination_reason = 'completed' WHERE run_id = 'run-1'",
        "UPDATE run SET cancel_us = 1 WHERE run_id = 'run-1'",
        "UPDATE run SET level = 1 WHERE run_id = 'run-1'",
        "UPDATE run SET status = 'cancelled', termination_reason = 'cancelled', cancel_us = 1"
        " WHERE run_id = 'run-1'",
        "UPDATE run SET level = 3 WHERE run_id = 'stopped'",
        "UPDATE run SET status = 'paused' WHERE run_id = 'run-1'",
        "UPDATE run SET claim = 0 WHERE run_id = 'run-1'",
        "UPDATE run SET next_seq = 'x' WHERE run_id = 'run-1'",
        "UPDATE event SET at_us = 0",
        "DELETE FROM run WHERE run_id = 'done'",
        "INSERT INTO event (run_id, seq, kind, at_us, round, body)"
        " VALUES ('nope', 0, 'started', 1, 0, '{}')",
        "INSERT INTO event (run_id, seq, kind, at_us, round, body)"
        " VALUES ('run-1', 0, 'started', 1, 0, '{}')",
        "INSERT INTO event (run_id, seq, kind, at_us, round, body)"
        " VALUES ('run-1', 1, 'started', 1, 0, NULL)",
        "INSERT INTO event (run_id, seq, kind, at_us, round, body)"
        " VALUES ('done', 9, 'failed', 1, 0, '{}')",
        "INSERT INTO event (run_id, seq, kind, at_us, round, step, body)"
        " VALUES ('done', 9, 'tool_started', 1, 0, 's1', '{}')",
        "INSERT INTO event (run_id, seq, kind, at_us, round, step, body)"
        " VALUES ('done', 9, 'tool', 1, 0, 's1', '{}')",
        "INSERT INTO event (run_id, seq, kind, at_us, round, body)"
        " VALUES ('run-1', 1, 'x', 1, 0, printf('%17000c', 'x'))",
        "INSERT INTO event (run_id, seq, kind, at_us, round, body_ref)"
        " VALUES ('run-1', 1, 'x', 1, 0, zeroblob(32))",
    ],
)
def test_a_wrong_state_is_refused(connection: Connection, statement: str) -> None:
    with pytest.raises(IntegrityError):
        connection.execute(statement)


def test_one_late_result_fits_beside_a_steps_outcome(connection: Connection) -> None:
    late = (
        "INSERT INTO event (run_id, seq, kind, at_us, round, step, body)"
        " VALUES ('done', ?, 'late_result', 1, 0, 's1', '{}')"
    )
    connection.execute(late, (9,))
    with pytest.raises(IntegrityError):
        connection.execute(late, (10,))


async def test_a_big_body_is_stored_once_and_outside_the_event(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store = await open_sqlite(path, seal=seal)
    claim = await begin(store)
    fits, big = "x" * 15_000, "y" * 10_000_000
    await store.commit(
        Commit(
            claim=claim,
            outcomes=(tool("t1", result=fits), tool("t2", result=big), tool("t3", result=big)),
        )
    )
    await store.close()
    connection = connect(path)
    sizes = connection.execute(
        "SELECT step, length(body), body_ref IS NOT NULL FROM event WHERE step IS NOT NULL"
    ).fetchall()
    assert [(step, bool(size), ref) for step, size, ref in sizes] == [
        ("t1", True, 0),
        ("t2", False, 1),
        ("t3", False, 1),
    ]
    assert connection.execute("SELECT count(*) FROM body").fetchone() == (1,)
    connection.close()
    assert path.stat().st_size < 11_000_000


async def test_every_row_is_in_a_strict_table(database: Path) -> None:
    connection = connect(database)
    tables = connection.execute("PRAGMA table_list").fetchall()
    connection.close()
    strict = {table[1]: bool(table[5]) for table in tables if not table[1].startswith("sqlite_")}
    assert set(strict) == {
        "audit",
        "audit_block",
        "audit_count",
        "body",
        "call_intent",
        "chain_key",
        "event",
        "meta",
        "run",
        "secret",
    }
    assert all(strict.values())


def test_the_runs_of_the_fixture_are_as_the_statements_expect(connection: Connection) -> None:
    rows = connection.execute("SELECT run_id, status FROM run ORDER BY run_id").fetchall()
    assert rows == [("done", "completed"), (RUN, "running"), ("stopped", "cancelled")]


async def test_rows_that_this_version_cannot_read_are_named(database: Path) -> None:
    connection = connect(database)
    connection.execute("DROP TRIGGER audit_no_update")
    connection.execute("DROP TRIGGER event_kept")
    connection.execute("UPDATE audit SET action = 'made_up'")
    connection.execute("UPDATE event SET kind = 'made_up' WHERE run_id = 'run-1'")
    connection.execute("UPDATE event SET body = '[' WHERE run_id = 'done' AND seq = 1")
    connection.close()
    store = await open_sqlite(database, seal=seal)
    with pytest.raises(StoreError, match="unknown action"):
        await store.audit_page(AuditQuery())
    for run_id in (RUN, "done"):
        with pytest.raises(StoreError, match="cannot read"):
            await store.read_events(run_id, after=-1, limit=10)
    assert len(await store.list_runs(limit=10)) == 3
    await store.close()
