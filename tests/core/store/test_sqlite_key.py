"""The key that seals a database's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.audit import Chain
from core.errors import StoreError
from core.store import AuditQuery, Seal, open_sqlite
from core.store.sqlite._driver import connect
from tests.core.store.builders import entry, seal


def other_seal(database_id: str, _sealed_by: str | None) -> Seal:
    return Chain(b"x" * 32, "k2", database_id).seal


async def test_a_key_that_sealed_nothing_here_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store = await open_sqlite(path, seal=seal)
    await store.append_audit(entry())
    await store.close()
    with pytest.raises(StoreError, match="master key") as caught:
        await open_sqlite(path, seal=other_seal)
    assert caught.value.where == str(path)
    assert "k1" in caught.value.hint
    assert "PLAYGROUND_KEY_FILE" in caught.value.hint
    assert list((tmp_path / "x.db.owners").iterdir()) == []
    store = await open_sqlite(path, seal=seal)
    assert len(await store.audit_page(AuditQuery())) == 1
    await store.close()


async def test_any_key_may_begin_a_log(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    for each in (seal, other_seal):
        store = await open_sqlite(path, seal=each)
        await store.close()


@pytest.mark.parametrize("seq", [1, 2])
async def test_a_row_altered_to_another_key_locks_nobody_out(tmp_path: Path, seq: int) -> None:
    path = tmp_path / "x.db"
    store = await open_sqlite(path, seal=seal)
    await store.append_audit(entry())
    await store.append_audit(entry())
    await store.close()
    connection = connect(path)
    connection.execute("DROP TRIGGER audit_no_update")
    connection.execute("UPDATE audit SET key_id = 'k9' WHERE seq = ?", (seq,))
    connection.close()
    store = await open_sqlite(path, seal=seal)
    assert len(await store.audit_page(AuditQuery())) == 2
    await store.close()
