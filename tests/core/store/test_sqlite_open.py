"""Opening a SQLite store: what it makes, what it refuses, what it leaves alone."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import cast

import pytest

from core.errors import SecretUnavailable, StoreError, StoreReadOnly
from core.model import CancelLevel
from core.store import AuditQuery, Commit, Seal, open_sqlite
from core.store.sqlite import driver_fixed, driver_note
from core.store.sqlite._driver import Connection, connect, is_fixed
from core.store.sqlite._schema import is_foreign, migrate
from tests.core.store.builders import RUN, assembled, begin, entry, row, seal, secret, started
from tests.core.store.child import ROOT, Child


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def loose_umask() -> Iterator[None]:
    before = os.umask(0o000)
    yield
    os.umask(before)


@pytest.mark.usefixtures("loose_umask")
async def test_a_new_database_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x.db"
    store = await open_sqlite(path, seal=seal)
    await begin(store)
    assert (mode(tmp_path / "a"), mode(path.parent)) == (0o700, 0o700)
    files = {file.name: mode(file) for file in path.parent.iterdir() if file.is_file()}
    assert files == dict.fromkeys(("x.db", "x.db-wal", "x.db-shm", "x.db.gate"), 0o600)
    assert mode(path.parent / "x.db.owners") == 0o700
    await store.close()
    left = sorted(file.name for file in path.parent.rglob("*"))
    assert left == ["x.db", "x.db.gate", "x.db.owners"]


async def test_a_database_keeps_its_id_and_its_rows(tmp_path: Path) -> None:
    first = await open_sqlite(tmp_path / "x.db", seal=seal)
    await begin(first)
    await first.close()
    second = await open_sqlite(str(tmp_path / "x.db"), seal=seal)
    other = await open_sqlite(tmp_path / "y.db", seal=seal)
    found = await second.get_run(RUN)
    assert found is not None
    assert found.owner == first.owner != second.owner
    assert first.database_id == second.database_id != other.database_id
    assert await second.check() == []
    await second.close()
    await other.close()


async def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.touch()
    store = await open_sqlite(path, seal=seal)
    await begin(store)
    await store.close()


async def test_an_opening_that_is_cancelled_lets_go_of_everything(tmp_path: Path) -> None:
    for delay in (0.0, 0.001, 0.005):
        opening = asyncio.create_task(open_sqlite(tmp_path / "x.db", seal=seal))
        await asyncio.sleep(delay)
        opening.cancel()
        with suppress(asyncio.CancelledError):
            await (await opening).close()
    deadline = time.monotonic() + 5
    while {"store-writer"} & {thread.name for thread in threading.enumerate()}:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    assert list((tmp_path / "x.db.owners").glob("*")) == []


@pytest.mark.parametrize("name", ["with space.db", "50%.db", "a?b#c.db", "ü\u202e.db", "..db"])
async def test_awkward_file_names_work(tmp_path: Path, name: str) -> None:
    store = await open_sqlite(tmp_path / name, seal=seal)
    await begin(store)
    await store.close()
    assert (tmp_path / name).is_file()


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def a_folder(path: Path) -> None:
    path.mkdir()


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database\n" * 400)


def a_short_text(path: Path) -> None:
    path.write_text("hello")


def another_programs(path: Path) -> None:
    connection = connect(path, options="mode=rwc")
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()


def a_torn_database(path: Path) -> None:
    another_programs(path)
    path.write_bytes(path.read_bytes()[:1000])


def no_schema(path: Path) -> None:
    connection = connect(path, options="mode=rwc")
    connection.execute("PRAGMA user_version = 1")
    connection.execute(f"PRAGMA application_id = {0x5374_6272}")
    connection.close()


@pytest.mark.parametrize(
    "make", [a_folder, garbage, a_short_text, another_programs, a_torn_database]
)
async def test_what_is_no_database_of_ours_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "x.db"
    make(path)
    before = snapshot(tmp_path)
    with pytest.raises(StoreError) as caught:
        await open_sqlite(path, seal=seal)
    assert caught.value.where == str(path)
    assert caught.value.hint
    assert snapshot(tmp_path) == before


async def test_a_database_of_ours_without_tables_is_refused(tmp_path: Path) -> None:
    no_schema(tmp_path / "x.db")
    with pytest.raises(StoreError):
        await open_sqlite(tmp_path / "x.db", seal=seal)


@pytest.mark.parametrize("place", ["file/x.db", "file/deeper/x.db", "/proc/nowhere/x.db"])
async def test_a_place_that_cannot_hold_a_database_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way")
    before = snapshot(tmp_path)
    with pytest.raises(StoreError) as caught:
        await open_sqlite(tmp_path / place, seal=seal)
    assert "--db" in caught.value.hint
    assert snapshot(tmp_path) == before


async def test_a_database_of_a_later_version_is_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store = await open_sqlite(path, seal=seal)
    claim = await begin(store)
    await store.append_audit(entry())
    await store.put_secret(secret("s"), entry())
    await store.close()
    connection = connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    before = path.read_bytes()

    store = await open_sqlite(path, seal=seal)
    assert store.read_only
    assert not store.audit_available
    unwatch = store.watch(lambda: None)
    assert [run.run_id for run in await store.list_runs(limit=5)] == [RUN]
    assert len(await store.audit_page(AuditQuery())) == 2
    assert await store.get_secret("s") == secret("s")
    for write in (
        store.create_run(row("other"), started("other")),
        store.commit(Commit(claim=claim, outcomes=(assembled(),))),
        store.cancel(RUN, level=CancelLevel.ABORT, by="me", reason="", at_us=1),
        store.append_audit(entry()),
        store.put_secret(secret("t"), entry()),
        store.delete_secret("s", entry()),
        store.take_over(row()),
    ):
        with pytest.raises(StoreReadOnly) as caught:
            await write
        assert "later version" in caught.value.what
    unwatch()
    await store.close()
    assert path.read_bytes() == before


def test_processes_that_open_fresh_databases_at_once_all_succeed(tmp_path: Path) -> None:
    starts_at = str(time.time() + 2.0)
    with ExitStack() as stack:
        children = [stack.enter_context(Child("open-many", tmp_path, starts_at)) for _ in range(6)]
        ids = [child.read() for child in children]
        assert [child.wait() for child in children] == [0] * 6
    assert {len(each) for each in ids} == {8}
    assert all(len(set(same)) == 1 for same in zip(*ids, strict=True))


def test_an_unhandled_error_ends_the_interpreter_at_once(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "tests.core.store.child", "fail", str(tmp_path / "x.db"), ""],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    ended = time.time()
    assert child.returncode == 1
    assert "on purpose" in child.stderr
    assert ended - float(child.stdout) < 1.0


WITHOUT_WHEEL = """
import sys
sys.modules["pysqlite3"] = None
import asyncio
from core.store.sqlite import driver_fixed, driver_note
from tests.core.store.child import *
async def main():
    store = await open_sqlite(sys.argv[1], seal=seal)
    claim = await begin(store)
    await store.commit(Commit(claim=claim, outcomes=(response("s1"),)))
    await store.append_audit(entry())
    assert len(await store.read_events("run-1", after=-1, limit=9)) == 2
    await store.close()
    say(driver_note())
    say(driver_fixed())
asyncio.run(main())
"""


def test_without_the_wheel_the_interpreters_own_sqlite_works_and_says_so(tmp_path: Path) -> None:
    import sqlite3

    output = subprocess.run(
        [sys.executable, "-c", WITHOUT_WHEEL, str(tmp_path / "x.db")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    ).stdout.splitlines()
    fixed = is_fixed(sqlite3.sqlite_version_info)
    assert output[0].startswith(f"SQLite {sqlite3.sqlite_version} (sqlite3)")
    assert ("WAL-reset" in output[0]) is not fixed
    assert output[1] == str(fixed)


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 0), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 53, 4), True),
        ((4, 0, 0), True),
    ],
)
def test_fixed_versions_are_known(version: tuple[int, int, int], fixed: bool) -> None:
    assert is_fixed(version) is fixed


def test_the_driver_in_use_is_named() -> None:
    assert driver_note().startswith("SQLite 3.")
    assert ("WAL-reset" in driver_note()) is not driver_fixed()


def test_one_module_alone_imports_a_sqlite_driver() -> None:
    words = ("import sqlite3", "import pysqlite3", "from pysqlite3", "aiosqlite", "import apsw")
    found = {
        str(file.relative_to(ROOT))
        for package in ("core", "playground")
        for file in (ROOT / package).rglob("*.py")
        for line in file.read_text().splitlines()
        if any(word in line and ("import" in line or "aiosqlite." in line) for word in words)
    }
    assert found == {"core/store/sqlite/_driver.py"}


def test_importing_the_protocols_loads_no_driver() -> None:
    code = (
        "import sys, core.store; "
        "bad = {'sqlite3', 'pysqlite3', 'aiosqlite', 'asyncio'} & set(sys.modules); "
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=20)


async def test_a_store_whose_key_cannot_be_had_lets_go_of_everything(tmp_path: Path) -> None:
    def no_key(*_: object) -> Seal:
        raise SecretUnavailable("There is no master key")

    with pytest.raises(SecretUnavailable):
        await open_sqlite(tmp_path / "x.db", seal=no_key)
    assert list((tmp_path / "x.db.owners").iterdir()) == []


class FilledBetween:
    """A connection between whose statements another process fills the file."""

    def __init__(self, connection: Connection, fill: Callable[[], None]) -> None:
        self._connection = connection
        self._fill = [fill]

    def execute(self, statement: str) -> object:
        found = self._connection.execute(statement)
        if self._fill:
            self._fill.pop()()
        return found


def test_a_file_that_is_being_filled_is_not_taken_for_another_programs(tmp_path: Path) -> None:
    connection = connect(tmp_path / "x.db", options="mode=rwc")
    other = connect(tmp_path / "x.db", options="mode=rwc")
    filled = FilledBetween(connection, lambda: migrate(other))
    assert not is_foreign(cast(Connection, filled))
    assert not is_foreign(connection)
    connection.close()
    other.close()
