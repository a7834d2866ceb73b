from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.audit import AuditLog, open_chain, verify
from core.errors import AuditUnavailable
from core.model.audit import AuditEntry, AuditRow
from core.store import AuditQuery, open_sqlite
from tests.core.audit.logs import KEY, entry


class DeadStore:
    """A store that is down, and knows it or not."""

    def __init__(self, *, known: bool) -> None:
        self.audit_available = not known

    async def append_audit(self, entry: AuditEntry) -> AuditRow:
        raise AuditUnavailable("down")

    async def begin_call(self, entry: AuditEntry) -> None:
        raise AuditUnavailable("down")


async def test_rows_are_there_when_append_returns_and_verify(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    store = await open_sqlite(path, seal=lambda database_id, _: open_chain(KEY, database_id).seal)
    try:
        log = AuditLog(store)
        log.check()
        for number in range(1, 4):
            await log.append(entry(number))
            (newest,) = await store.audit_page(AuditQuery(), limit=1)
            assert (newest.seq, newest.call_id) == (number, f"call-{number}")
            assert verify(path, key=KEY).rows == number
        assert verify(path, key=KEY).ok
    finally:
        await store.close()


async def test_what_is_no_action_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    store = await open_sqlite(path, seal=lambda database_id, _: open_chain(KEY, database_id).seal)
    try:
        log = AuditLog(store)
        with pytest.raises(TypeError, match="AuditAction"):
            await log.append(replace(entry(), action="http_call"))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="status"):
            await log.append(replace(entry(), status=1000))
        await log.append(entry())
        assert [row.seq for row in await store.audit_page(AuditQuery())] == [1]
    finally:
        await store.close()


async def test_awkward_text_is_stored_as_it_was_sealed(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    store = await open_sqlite(path, seal=lambda database_id, _: open_chain(KEY, database_id).seal)
    try:
        await AuditLog(store).append(entry(path="/\x00\ud800", host="ü\u202e漢", message=""))
        (row,) = await store.audit_page(AuditQuery())
        assert (row.path, row.host, row.message) == ("/\ufffd\ufffd", "ü\u202e漢", "")
    finally:
        await store.close()
    assert verify(path, key=KEY).ok


def test_check_refuses_only_what_is_known_to_be_down() -> None:
    AuditLog(DeadStore(known=False)).check()
    with pytest.raises(AuditUnavailable):
        AuditLog(DeadStore(known=True)).check()


async def test_a_row_that_cannot_be_written_is_said_so() -> None:
    with pytest.raises(AuditUnavailable):
        await AuditLog(DeadStore(known=False)).append(entry())


async def test_a_call_that_begins_is_kept_as_its_row_will_be(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    dead, store = [
        await open_sqlite(path, seal=lambda database_id, _: open_chain(KEY, database_id).seal)
        for _ in range(2)
    ]
    log = AuditLog(dead)
    await log.begin(entry(path="/\x00\ud800"))
    with pytest.raises(TypeError, match="call_id"):
        await log.begin(entry(call_id=None))
    with pytest.raises(TypeError, match="host"):
        await log.begin(entry(call_id="2", host=b"x"))
    await dead.close()
    (row,) = await store.close_interrupted(1)
    assert row.path == "/\ufffd\ufffd"
    await store.close()
    assert verify(path, key=KEY).ok


async def test_a_call_that_cannot_be_noted_is_refused() -> None:
    with pytest.raises(AuditUnavailable):
        await AuditLog(DeadStore(known=False)).begin(entry())
