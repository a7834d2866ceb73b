"""The files beside the database: the gate, the owners' locks, and the raw audit scan."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import StoreError
from core.model import RunStatus
from core.store import Commit, Verdict, open_audit_scan, open_sqlite
from core.store.sqlite._driver import connect
from core.store.sqlite._gate import Gate
from core.store.sqlite._locks import OwnerLock
from tests.core.store.builders import entry, seal
from tests.core.store.child import Child


@pytest.fixture
def gate_path(tmp_path: Path) -> Path:
    return tmp_path / "x.gate"


def test_the_gate_lets_one_in_at_a_time(gate_path: Path) -> None:
    inside = 0
    most = 0
    passes = 0

    def go() -> None:
        nonlocal inside, most, passes
        gate = Gate(gate_path, patience=5)
        for _ in range(50):
            assert gate.enter()
            inside += 1
            most = max(most, inside)
            time.sleep(0.0002)
            passes += 1
            inside -= 1
            gate.leave()
        gate.close()

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (most, passes) == (1, 200)


def test_a_gate_kept_too_long_is_passed_by_and_opens_again(gate_path: Path) -> None:
    holder, gate = Gate(gate_path, patience=1), Gate(gate_path, patience=0.1)
    assert holder.enter()
    began = time.monotonic()
    assert not gate.enter()
    assert 0.09 < time.monotonic() - began < 1
    began = time.monotonic()
    assert not gate.enter()
    assert time.monotonic() - began < 0.1 + 0.5
    assert gate.passed_by == 2
    holder.leave()
    deadline = time.monotonic() + 5
    while not gate.enter():
        assert time.monotonic() < deadline
    # The thread that waited in vain does not keep the gate.
    gate.leave()
    assert holder.enter()
    holder.leave()
    holder.close()
    gate.close()


def test_a_gate_that_was_given_up_is_not_kept(gate_path: Path) -> None:
    holder, gate = Gate(gate_path, patience=1), Gate(gate_path, patience=0.02)
    assert holder.enter()
    assert not gate.enter()
    gate.close()
    holder.leave()
    third = Gate(gate_path, patience=5)
    assert third.enter()
    third.leave()
    third.close()
    holder.close()


def test_the_gate_knows_who_took_it_last(gate_path: Path) -> None:
    gate = Gate(gate_path, patience=1)
    assert gate.holder() is None
    assert gate.enter()
    gate.leave()
    assert gate.holder() is None
    assert gate_path.read_bytes().strip() == str(os.getpid()).encode()
    gate_path.write_bytes(b"%-12d" % 4711)
    assert gate.holder() == 4711
    gate.close()


def test_an_owners_file_is_locked_while_it_lives_and_gone_after(tmp_path: Path) -> None:
    first, second = OwnerLock(tmp_path / "owners"), OwnerLock(tmp_path / "owners")
    path = tmp_path / "owners" / f"{first.owner}.lock"
    with path.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    assert not first.is_dead(second.owner)
    assert not first.is_dead(first.owner)
    first.release()
    first.release()
    assert not path.exists()
    assert second.is_dead(first.owner)
    second.release()


@pytest.mark.parametrize("owner", ["", "..", "../x", "1-memory", "a-00000000", "1-00000000/x"])
def test_a_name_that_no_process_has_is_dead(tmp_path: Path, owner: str) -> None:
    bystander = tmp_path / "x.lock"
    bystander.touch()
    lock = OwnerLock(tmp_path / "owners")
    assert lock.is_dead(owner)
    assert bystander.exists()
    lock.release()


def test_what_killed_processes_left_is_swept_and_what_lives_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "owners"
    living = OwnerLock(folder)
    (folder / "1-00000000.lock").touch()
    other = OwnerLock(folder)
    names = {path.stem for path in folder.iterdir()}
    assert names == {living.owner, other.owner}
    living.release()
    other.release()


def test_locks_made_and_swept_side_by_side_are_all_held(tmp_path: Path) -> None:
    folder = tmp_path / "owners"
    wrong: list[str] = []

    def go() -> None:
        for _ in range(40):
            lock = OwnerLock(folder)
            if not (folder / f"{lock.owner}.lock").exists() or lock.is_dead(lock.owner):
                wrong.append(lock.owner)
            lock.release()

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert wrong == []


async def test_a_killed_process_is_known_to_be_dead(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store = await open_sqlite(path, seal=seal)
    with Child("own", path, "run-9") as child:
        owner = await asyncio.to_thread(child.line)
        row = await store.get_run("run-9")
        assert row is not None
        assert row.owner == owner
        assert await store.take_over(row) is None
        child.kill()
        child.wait()
        claim = await store.take_over(row)
    assert claim is not None
    assert (await store.commit(Commit(claim=claim))).verdict is Verdict.GO
    found = await store.get_run("run-9")
    assert found is not None
    assert (found.status, found.owner) == (RunStatus.RUNNING, store.owner)
    assert [file.stem for file in (tmp_path / "x.db.owners").iterdir()] == [store.owner]
    await store.close()


def test_a_scan_gives_the_rows_as_they_are_stored(filled: Path) -> None:
    with open_audit_scan(filled) as scan:
        rows = list(scan.rows)
        assert len(scan.database_id) == 36
    assert [row[0] for row in rows] == [*range(1, 6)]
    assert rows[0][1:15] == (
        100,
        "http_call",
        1,
        200,
        "GET",
        "api.test",
        "/x",
        "demo",
        None,
        None,
        "c0",
        "me",
        None,
        "k1",
    )
    assert {len(row[15]) for row in rows} == {32}


@pytest.fixture
async def filled(tmp_path: Path) -> Path:
    path = tmp_path / "x.db"
    store = await open_sqlite(path, seal=seal)
    for number in range(5):
        await store.append_audit(entry(call_id=f"c{number}"))
    await store.close()
    return path


def loosen(path: Path) -> None:
    """Replace the log by a table that takes anything."""
    connection = connect(path)
    connection.execute("DROP TRIGGER audit_no_update")
    connection.execute("DROP TRIGGER audit_no_delete")
    connection.execute("CREATE TABLE loose AS SELECT * FROM audit")
    connection.execute("DROP TABLE audit")
    connection.execute("ALTER TABLE loose RENAME TO audit")
    connection.execute("UPDATE audit SET mac = 'text', at_us = NULL WHERE seq = 2")
    connection.execute("UPDATE audit SET actor = CAST(x'ff6d65' AS TEXT) WHERE seq = 3")
    connection.execute("INSERT INTO audit SELECT * FROM audit WHERE seq = 5")
    connection.execute("DELETE FROM audit WHERE seq = 4")
    connection.close()


def test_a_scan_reads_an_altered_table_too(filled: Path) -> None:
    loosen(filled)
    with open_audit_scan(filled) as scan:
        rows = list(scan.rows)
    assert [row[0] for row in rows] == [1, 2, 3, 5, 5]
    assert (rows[1][1], rows[1][15]) == (None, "text")
    assert rows[2][12] == "\udcffme"


async def test_a_scan_sees_one_moment_while_others_write(tmp_path: Path) -> None:
    store = await open_sqlite(tmp_path / "x.db", seal=seal)
    await store.append_audit(entry())
    with open_audit_scan(tmp_path / "x.db") as scan:
        first = next(scan.rows)
        await store.append_audit(entry())
        assert [first[0], *(row[0] for row in scan.rows)] == [1]
    await store.append_audit(entry())
    await store.close()


def missing(path: Path) -> None:
    path.unlink()


def garbage(path: Path) -> None:
    path.write_bytes(b"x" * 5000)


def no_table(path: Path) -> None:
    connection = connect(path)
    connection.execute("DROP TABLE audit")
    connection.close()


def no_id(path: Path) -> None:
    connection = connect(path)
    connection.execute("DELETE FROM meta")
    connection.close()


@pytest.mark.parametrize("spoil", [missing, garbage, no_table, no_id])
def test_a_scan_of_what_has_no_log_is_refused(filled: Path, spoil: Callable[[Path], None]) -> None:
    spoil(filled)
    before = filled.read_bytes() if filled.exists() else None
    with pytest.raises(StoreError) as caught, open_audit_scan(filled) as scan:
        list(scan.rows)
    assert caught.value.where == str(filled)
    assert (filled.read_bytes() if filled.exists() else None) == before
