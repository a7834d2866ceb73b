"""The key that seals a database's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import SecretUnavailable, StoreError
from core.store import AuditQuery, Seal, Sealer, Store, open_audit_scan, open_sqlite
from core.store.sqlite._driver import connect
from tests.core.store.builders import assert_chained, entry, retired, rotation, seal


def other_seal(database_id: str, _sealed_by: str | None) -> Seal:
    return seal(database_id, "k2")


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
    asked: list[str | None] = []

    def asking(database_id: str, sealed_by: str | None) -> Seal:
        asked.append(sealed_by)
        return seal(database_id, sealed_by)

    store = await open_sqlite(path, seal=asking)
    assert asked == ["k9" if seq == 2 else "k1"]
    assert (await store.append_audit(entry())).key_id == "k1"
    assert len(await store.audit_page(AuditQuery())) == 3
    await store.close()


def only_k1(database_id: str, _sealed_by: str | None) -> Seal:
    return seal(database_id)


async def test_a_key_that_cannot_be_had_is_not_asked_for_at_every_row(tmp_path: Path) -> None:
    asked: list[str | None] = []

    def asking(database_id: str, sealed_by: str | None) -> Seal:
        asked.append(sealed_by)
        return unreachable_after_k1(database_id, sealed_by)

    stale = await open_sqlite(tmp_path / "x.db", seal=asking)
    store = await open_sqlite(tmp_path / "x.db", seal=seal)
    await rotate(store, "k1", "k2")
    for _ in range(5):
        assert (await stale.append_audit(entry())).key_id == "k1"
    assert asked == [None, "k2"]
    await stale.close()
    await store.close()


def unreachable_after_k1(database_id: str, sealed_by: str | None) -> Seal:
    if sealed_by not in (None, "k1"):
        raise SecretUnavailable("The key cannot be had")
    return seal(database_id)


async def rotate(store: Store, before: str, after: str) -> None:
    known = [item.key_id for item in await store.chain_keys()]
    made = rotation(store, [], *known, before, before=before, after=after)
    assert await store.rotate_key(made)


@pytest.mark.parametrize("stale_seal", [only_k1, unreachable_after_k1])
async def test_a_process_without_the_new_key_goes_on_and_turns_nobody_back(
    tmp_path: Path, stale_seal: Sealer
) -> None:
    path = tmp_path / "x.db"
    stale = await open_sqlite(path, seal=stale_seal)
    store = await open_sqlite(path, seal=seal)
    await store.append_audit(entry())
    await rotate(store, "k1", "k2")
    assert (await stale.append_audit(entry())).key_id == "k1"
    assert (await store.append_audit(entry())).key_id == "k2"
    assert (await stale.append_audit(entry())).key_id == "k1"
    # The newest row names a retired key, and the database is still k2's.
    late = await open_sqlite(path, seal=seal)
    assert (await late.append_audit(entry())).key_id == "k2"
    rows = (await late.audit_page(AuditQuery()))[::-1]
    assert [row.key_id for row in rows] == ["k1", "k2", "k1", "k2", "k1", "k2"]
    assert_chained(rows, late.database_id)
    for each in (stale, store, late):
        await each.close()


async def test_a_process_that_missed_two_rotations_finds_the_newest_key(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    other = await open_sqlite(path, seal=seal)
    await other.append_audit(entry())
    store = await open_sqlite(path, seal=seal)
    await rotate(store, "k1", "k2")
    await rotate(store, "k2", "k3")
    assert (await other.append_audit(entry())).key_id == "k3"
    await other.close()
    await store.close()


async def test_a_rotation_that_is_rolled_back_leaves_the_old_seal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_sqlite(tmp_path / "x.db", seal=seal)
    await store.append_audit(entry())

    def refuse(*_: object) -> None:
        raise RuntimeError("on purpose")

    made = rotation(store, [], "k1", before="k1", after="k2")
    with monkeypatch.context() as patch:
        patch.setattr("core.store.sqlite._audit.append", refuse)
        with pytest.raises(RuntimeError, match="on purpose"):
            await store.rotate_key(made)
    assert await store.chain_keys() == []
    assert (await store.append_audit(entry())).key_id == "k1"
    assert await store.rotate_key(made)
    await store.close()


async def test_the_key_in_use_opens_the_database_not_the_first_one(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    asked: list[str | None] = []

    def asking(database_id: str, sealed_by: str | None) -> Seal:
        asked.append(sealed_by)
        return seal(database_id, sealed_by)

    store = await open_sqlite(path, seal=asking)
    await store.append_audit(entry())
    await rotate(store, "k1", "k2")
    await store.append_audit(entry())
    await store.close()
    store = await open_sqlite(path, seal=asking)
    await store.close()
    assert asked == [None, "k2"]


async def test_a_retired_key_opens_the_database(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store = await open_sqlite(path, seal=seal)
    await store.append_audit(entry())
    await rotate(store, "k1", "k2")
    await store.close()
    store = await open_sqlite(path, seal=only_k1)
    assert len(await store.audit_page(AuditQuery())) == 2
    await store.close()


async def test_the_raw_scan_gives_the_retired_keys(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store = await open_sqlite(path, seal=seal)
    await store.append_audit(entry())
    with open_audit_scan(path) as scan:
        assert scan.chain_keys == ()
    await rotate(store, "k1", "k2")
    with open_audit_scan(path) as scan:
        assert list(scan.chain_keys) == await store.chain_keys() == [*retired("k1", by="k2")]
    await store.close()
