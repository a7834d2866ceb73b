"""A database of schema 1 becomes one of this version: whole, copied first, or not at all."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from core.audit import verify
from core.errors import EXIT_RETRY, StoreUnavailable
from core.keys import FileKeyProvider
from core.model import AuditAction, Completed, RunStatus
from core.store import AuditQuery, SqliteStore, Store, open_audit_scan, open_sqlite
from core.store.sqlite._driver import connect
from core.store.sqlite._gate import Gate
from core.store.sqlite._locks import OwnerLock, locks_folder
from core.store.sqlite._schema import MIGRATIONS, VERSION
from tests.core.store.builders import entry
from tests.core.store.child import Child
from tests.core.store.fixtures import CANCELLED, COMPLETED, key_file, schema_1, seal_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return schema_1(tmp_path)


@pytest.fixture
def backup(path: Path) -> Path:
    return path.with_name("schema-1.db.v1.bak")


async def opened(path: Path) -> SqliteStore:
    return await open_sqlite(path, seal=partial(seal_of, path))


def facts(path: Path) -> dict[str, object]:
    """What a database of any version holds, read past the store."""
    with closing(connect(path)) as connection:

        def all_of(statement: str) -> list[tuple[object, ...]]:
            return [tuple(row) for row in connection.execute(statement).fetchall()]

        return {
            "version": all_of("PRAGMA user_version"),
            "program": all_of("PRAGMA application_id"),
            "check": all_of("PRAGMA integrity_check"),
            "meta": all_of("SELECT * FROM meta"),
            "run": all_of("SELECT * FROM run ORDER BY run_id"),
            "event": all_of("SELECT * FROM event ORDER BY run_id, seq"),
            "body": all_of("SELECT * FROM body ORDER BY sha256"),
            "audit": all_of("SELECT * FROM audit ORDER BY seq"),
            "count": all_of("SELECT * FROM audit_count ORDER BY action"),
            "schema": all_of("SELECT type, name, sql FROM sqlite_schema ORDER BY name"),
            "secret": all_of(
                "SELECT name, version, placement, field, hosts, key_id, wrapped_key, nonce,"
                " ciphertext, created_us, updated_us FROM secret ORDER BY name"
            ),
        }


async def test_everything_reads_as_before(path: Path) -> None:
    before = facts(path)
    store = await opened(path)
    assert not store.read_only
    completed, cancelled = await store.get_run(COMPLETED), await store.get_run(CANCELLED)
    assert completed is not None
    assert cancelled is not None
    assert (completed.status, completed.tool_calls) == (RunStatus.COMPLETED, 2)
    assert (cancelled.status, cancelled.cancel_by) == (RunStatus.CANCELLED, "ada")
    events = await store.read_events(COMPLETED, after=-1, limit=100)
    assert [event.seq for event in events] == [*range(completed.next_seq)]
    assert isinstance(events[-1], Completed)
    assert events[-1].text.startswith("Tomorrow Lisbon")
    assert {record.name: record.version for record in await store.list_secrets()} == {
        "demo": 1,
        "internal": 1,
        "openai": 2,
    }
    for record in await store.list_secrets():
        assert (record.format, record.expires_us, record.description) == (1, None, "")
    assert await store.audit_count(AuditQuery()) == 9
    await store.close()
    after = facts(path)
    assert after["version"] == [(VERSION,)]
    for name in ("check", "program", "meta", "run", "event", "body", "audit", "count", "secret"):
        assert after[name] == before[name], name


async def test_the_log_verifies_and_goes_on(path: Path) -> None:
    key = FileKeyProvider(key_file(path)).master_key()
    with open_audit_scan(path) as scan:
        assert scan.chain_keys == ()
    assert verify(path, key).ok
    store = await opened(path)
    await store.begin_call(entry(call_id="c1"))
    row = await store.append_audit(entry(call_id="c1"))
    await store.close()
    assert row.seq == 10
    result = verify(path, key)
    assert (result.ok, result.rows) == (True, 10)


async def test_a_copy_of_the_old_database_is_kept(path: Path, backup: Path) -> None:
    before = facts(path)
    store = await opened(path)
    await store.append_audit(entry())
    await store.close()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert facts(backup) == before
    assert before["version"] == [(1,)]
    assert before["check"] == [("ok",)]
    assert verify(backup, FileKeyProvider(key_file(path)).master_key()).rows == 9
    # It can be put back in place of the new one.
    os.replace(backup, path)
    store = await opened(path)
    assert await store.audit_count(AuditQuery()) == 9
    await store.close()


async def test_only_an_older_database_is_copied(path: Path, backup: Path, tmp_path: Path) -> None:
    store = await opened(path)
    await store.close()
    backup.unlink()
    for each in (path, tmp_path / "new.db"):
        store = await open_sqlite(each, seal=partial(seal_of, path))
        await store.close()
    assert list(tmp_path.glob("*.bak*")) == []


async def test_rows_still_in_the_write_ahead_log_are_copied_too(path: Path, backup: Path) -> None:
    with closing(connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO meta VALUES ('note', 'in the log')")
        assert Path(f"{path}-wal").stat().st_size > 0
        store = await opened(path)
        await store.close()
    with closing(connect(backup)) as connection:
        assert ("note", "in the log") in connection.execute("SELECT * FROM meta").fetchall()


async def assert_refused(path: Path, backup: Path, *pids: int) -> None:
    before = facts(path)
    with pytest.raises(StoreUnavailable) as caught:
        await opened(path)
    assert caught.value.exit_code == EXIT_RETRY
    assert caught.value.where == str(path)
    assert caught.value.what.endswith(": " + ", ".join(map(str, sorted(pids))))
    assert facts(path) == before
    assert not backup.exists()


async def test_processes_that_use_it_are_named_and_not_disturbed(path: Path, backup: Path) -> None:
    with ExitStack() as stack:
        children = [stack.enter_context(Child("own-lock", path)) for _ in range(2)]
        for child in children:
            assert await asyncio.to_thread(child.line) == "held"
        await assert_refused(path, backup, *(child.pid for child in children))
        children[0].kill()
        children[0].wait()
        await assert_refused(path, backup, children[1].pid)
    store = await opened(path)
    await store.close()
    assert backup.exists()


async def test_a_store_of_this_process_is_an_other_too(path: Path, backup: Path) -> None:
    lock = OwnerLock(locks_folder(path))
    await assert_refused(path, backup, os.getpid())
    lock.release()
    await (await opened(path)).close()


async def test_without_the_gate_nothing_is_changed(
    path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.store.sqlite._open._OPEN_WITHIN", 0.2)
    monkeypatch.setattr("core.store.sqlite._open._PATIENCE", 0.2)
    gate = Gate(path.with_name("schema-1.db.gate"), patience=1)
    assert gate.enter()
    with pytest.raises(StoreUnavailable, match="other processes"):
        await opened(path)
    assert facts(path)["version"] == [(1,)]
    assert not backup.exists()
    gate.leave()
    gate.close()
    await (await opened(path)).close()


@pytest.mark.parametrize("moment", ["backup", 0, 1, 4, len(MIGRATIONS[1])])
async def test_a_kill_leaves_the_old_database_whole(
    path: Path, backup: Path, moment: str | int
) -> None:
    before = facts(path)
    with Child("upgrade-and-die", path, str(moment)) as child:
        assert await asyncio.to_thread(child.wait) == -9
    assert facts(path) == before
    if moment == "backup":
        assert not backup.exists()
    store = await opened(path)
    assert await store.audit_count(AuditQuery()) == 9
    await store.close()
    assert facts(backup) == before
    assert facts(path)["version"] == [(VERSION,)]
    assert list(path.parent.glob("*.part")) == []


async def test_a_copy_that_cannot_be_made_changes_nothing(path: Path, backup: Path) -> None:
    backup.mkdir()
    (backup / "in the way").touch()
    before = facts(path)
    with pytest.raises(Exception, match="database") as caught:
        await opened(path)
    assert type(caught.value).__module__ == "core.errors"
    assert facts(path) == before
    assert list(path.parent.glob("*.part")) == []


def test_processes_that_upgrade_at_once_all_succeed(path: Path, backup: Path) -> None:
    starts_at = str(time.time() + 1.5)
    with ExitStack() as stack:
        children = [stack.enter_context(Child("open-old", path, starts_at)) for _ in range(4)]
        said = [child.read() for child in children]
        assert [child.wait() for child in children] == [0] * 4
    assert said == [["9"]] * 4
    assert facts(backup)["version"] == [(1,)]


async def test_a_database_that_became_a_later_one_meanwhile_is_only_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(path)
    await store.close()
    with closing(connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    # What was seen before the gate was passed.
    monkeypatch.setattr("core.store.sqlite._open._version", lambda _: VERSION)
    late: Store = await opened(path)
    assert late.read_only
    assert await late.audit_counts() != {}
    assert AuditAction.HTTP_CALL in await late.audit_counts()
    await late.close()
    assert list(locks_folder(path).iterdir()) == []
