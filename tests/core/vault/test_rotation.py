from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.audit import sealer, verify, verify_log
from core.errors import SecretUnavailable, StoreUnavailable
from core.keys import FileKeyProvider, MasterKey
from core.model import AuditAction, AuditEntry
from core.store import AuditQuery, KeyRotation, SqliteStore, open_sqlite
from core.vault import Rotated, Vault
from core.vault._envelope import seal
from tests.core.vault.test_envelope import first_format
from tests.fakes.clock import FakeClock
from tests.fakes.keys import Keyring
from tests.fakes.memory_store import MemoryDatabase, MemoryStore

SECRETS = {f"key{number}": f"c4nary-{number}-Value" for number in range(5)}


async def fill(vault: Vault) -> None:
    for name, value in SECRETS.items():
        await vault.set(name, value, hosts=("a.example",), actor="me")


async def all_readable(vault: Vault) -> bool:
    values = {
        name: (await vault.read(name, host="a.example", port=443)).reveal() for name in SECRETS
    }
    return values == SECRETS


async def key_ids(store: SqliteStore | MemoryStore) -> set[str]:
    return {record.key_id for record in await store.list_secrets()}


async def actions(store: SqliteStore | MemoryStore) -> list[AuditAction]:
    return [row.action for row in reversed(await store.audit_page(AuditQuery()))]


async def test_everything_is_put_under_a_new_key(
    vault: Vault, store: SqliteStore, keyring: Keyring, path: Path, clock: FakeClock
) -> None:
    await fill(vault)
    first = keyring.keys[0]
    before = {record.name: record for record in await store.list_secrets()}
    rotated = await vault.rotate_key(actor="me")
    second = keyring.keys[0]
    assert rotated == Rotated(second.key_id, len(SECRETS))
    assert second.key_id != first.key_id
    for record in await store.list_secrets():
        old = before[record.name]
        assert record == replace(old, key_id=second.key_id, wrapped_key=record.wrapped_key)
    assert await all_readable(vault)
    [retired] = await store.chain_keys()
    assert (retired.key_id, retired.wrapped_by) == (first.key_id, second.key_id)
    newest = (await store.audit_page(AuditQuery()))[0]
    assert (newest.action, newest.key_id, newest.actor) == (
        AuditAction.MASTER_KEY_ROTATED, second.key_id, "me",
    )  # fmt: skip
    await vault.set("later", "value", actor="me")
    assert (await store.audit_page(AuditQuery()))[0].key_id == second.key_id
    assert verify(path, second).ok
    keyring.keys = [second]
    assert await all_readable(Vault(store, keyring, clock)), "the first key is no longer needed"


async def test_many_rotations_leave_one_verifiable_log(
    vault: Vault, store: SqliteStore, keyring: Keyring, path: Path
) -> None:
    await fill(vault)
    for number in range(5):
        await vault.rotate_key(actor="me")
        await vault.rotate("key0", SECRETS["key0"], actor="me")
        assert len(await store.chain_keys()) == number + 1
    assert await all_readable(vault)
    result = verify(path, keyring.keys[0])
    assert (result.ok, result.rows) == (True, len(SECRETS) + 10)
    unknown = verify(path, keyring.keys[1])
    assert {finding.reason.value for finding in unknown.findings} == {"key_unknown"}
    await store.close()
    again = await open_sqlite(path, seal=sealer(Keyring(keyring.keys[0].reveal())))
    await again.close()


async def test_an_interrupted_rotation_goes_on_with_the_key_that_is_stored(
    vault: Vault, store: SqliteStore, keyring: Keyring, path: Path, clock: FakeClock
) -> None:
    await fill(vault)
    first = keyring.keys[0]
    second = keyring.renew(first.key_id)  # killed right after this
    await store.close()
    store = await open_sqlite(path, seal=sealer(keyring))
    vault = Vault(store, keyring, clock)
    try:
        assert await all_readable(vault)
        await vault.set("meanwhile", "value", actor="me")
        assert await key_ids(store) == {first.key_id}
        assert await vault.key_in_use() == first.key_id
        assert verify_log(path, keyring).ok
        assert await vault.rotate_key(actor="me") == Rotated(second.key_id, len(SECRETS) + 1)
        assert len(keyring.keys) == 2
        assert await key_ids(store) == {second.key_id}
        assert verify(path, second).ok
    finally:
        await store.close()


async def test_secrets_of_the_first_format_are_rotated(
    store: SqliteStore, vault: Vault, keyring: Keyring
) -> None:
    entry = AuditEntry(at_us=1, action=AuditAction.SECRET_CREATED, success=True, actor="x")
    old = first_format("old value", store.database_id, name="old", version=1)
    assert await store.put_secret(old, entry)
    await vault.set("new", "new value", actor="me")
    assert (await vault.read("old", host="a.example", port=1)).reveal() == "old value"
    await vault.rotate_key(actor="me")
    assert {record.format for record in await store.list_secrets()} == {2}
    assert (await vault.read("old", host="a.example", port=1)).reveal() == "old value"
    assert await key_ids(store) == {keyring.keys[0].key_id}


@pytest.mark.parametrize("damage", [{"ciphertext": b"x" * 40}, {"hosts": ()}, {"key_id": "f" * 16}])
async def test_one_secret_that_cannot_be_read_keeps_all_where_they_are(
    vault: Vault, store: SqliteStore, keyring: Keyring, path: Path, damage: dict[str, Any]
) -> None:
    await fill(vault)
    record = await store.get_secret("key2")
    assert record is not None
    entry = AuditEntry(at_us=1, action=AuditAction.SECRET_UPDATED, success=True, actor="x")
    await store.delete_secret("key2", entry)
    await store.put_secret(replace(record, **damage), entry)
    before = await store.list_secrets()
    with pytest.raises(SecretUnavailable) as caught:
        await vault.rotate_key(actor="me")
    assert caught.value.where == "key2"
    assert await store.list_secrets() == before
    assert await store.chain_keys() == []
    assert AuditAction.MASTER_KEY_ROTATED not in await actions(store)
    await vault.delete("key2", actor="me")
    await vault.rotate_key(actor="me")
    assert len(keyring.keys) == 2, "the key stored by the first try was used"
    assert verify(path, keyring.keys[0]).ok


async def test_a_secret_set_meanwhile_is_rotated_too(
    vault: Vault, store: SqliteStore, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(vault)
    tries = 0
    real = store.rotate_key

    async def late(rotation: KeyRotation) -> bool:
        nonlocal tries
        tries += 1
        if tries == 1:
            await vault.set("late", "value", actor="you")
        if tries == 2:
            await vault.rotate("key1", SECRETS["key1"], actor="you")
        return await real(rotation)

    monkeypatch.setattr(store, "rotate_key", late)
    assert (await vault.rotate_key(actor="me")).rewrapped == len(SECRETS) + 1
    assert tries == 3
    assert len(keyring.keys) == 2
    assert await all_readable(vault)


async def test_a_secret_written_under_the_old_key_after_a_rotation_is_brought_along(
    vault: Vault, store: SqliteStore, keyring: Keyring, path: Path
) -> None:
    await fill(vault)
    first = keyring.keys[0]
    record = await store.get_secret("key1")
    assert record is not None
    await vault.rotate_key(actor="me")
    # A process that had read the key before the rotation, and writes after it.
    stale = seal(replace(record, version=2), SECRETS["key1"], first, store.database_id)
    entry = AuditEntry(at_us=1, action=AuditAction.SECRET_ROTATED, success=True, actor="x")
    assert await store.put_secret(stale, entry)
    assert await all_readable(vault)
    assert len(await key_ids(store)) == 2
    await vault.rotate_key(actor="me")
    assert await key_ids(store) == {keyring.keys[0].key_id}
    assert await all_readable(vault)
    assert verify(path, keyring.keys[0]).ok


async def test_a_store_that_never_agrees_ends_the_rotation(
    vault: Vault, store: SqliteStore, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(vault)

    async def refuse(rotation: KeyRotation) -> bool:
        return False

    monkeypatch.setattr(store, "rotate_key", refuse)
    with pytest.raises(StoreUnavailable, match="Others"):
        await vault.rotate_key(actor="me")
    assert await all_readable(vault)


async def test_a_store_that_is_down_leaves_a_rotation_to_be_finished(
    vault: Vault, store: SqliteStore, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(vault)

    async def refuse(rotation: KeyRotation) -> bool:
        raise StoreUnavailable("down")

    monkeypatch.setattr(store, "rotate_key", refuse)
    with pytest.raises(StoreUnavailable, match="down"):
        await vault.rotate_key(actor="me")
    monkeypatch.undo()
    stored = keyring.keys[0]
    assert await all_readable(vault)
    assert (await vault.rotate_key(actor="me")).key_id == stored.key_id


async def test_without_the_key_it_is_under_a_database_is_not_rotated(
    vault: Vault, store: SqliteStore, keyring: Keyring, clock: FakeClock
) -> None:
    await fill(vault)
    first = keyring.keys[0]
    keyring.keys = [MasterKey.random()]
    fresh = Vault(store, keyring, clock)
    with pytest.raises(SecretUnavailable, match="is not there") as caught:
        await fresh.rotate_key(actor="me")
    assert (caught.value.code, caught.value.where) == ("secret_locked", first.key_id)
    assert await key_ids(store) == {first.key_id}
    keyring.keys.append(first)
    assert (await fresh.rotate_key(actor="me")).key_id == keyring.keys[0].key_id
    assert await all_readable(fresh)


async def test_an_empty_database_is_rotated(
    vault: Vault, store: SqliteStore, keyring: Keyring, path: Path
) -> None:
    assert (await vault.rotate_key(actor="me")).rewrapped == 0
    assert await actions(store) == [AuditAction.MASTER_KEY_ROTATED]
    assert verify(path, keyring.keys[0]).ok


async def test_rotations_side_by_side_agree(tmp_path: Path, clock: FakeClock) -> None:
    file = tmp_path / "keys" / "k"
    FileKeyProvider(file).master_key(make=True)
    stores = [
        await open_sqlite(tmp_path / "v.db", seal=sealer(FileKeyProvider(file))) for _ in range(3)
    ]
    vaults = [Vault(store, FileKeyProvider(file), clock) for store in stores]
    try:
        await fill(vaults[0])
        await asyncio.gather(*(vault.rotate_key(actor="me") for vault in vaults))
        for vault in vaults:
            assert await all_readable(vault)
        in_use = FileKeyProvider(file).master_key()
        assert await key_ids(stores[0]) == {in_use.key_id}
        assert verify(tmp_path / "v.db", in_use).ok
    finally:
        for store in stores:
            await store.close()


async def test_another_live_process_goes_on_with_the_new_key(
    tmp_path: Path, clock: FakeClock
) -> None:
    file = tmp_path / "keys" / "k"
    FileKeyProvider(file).master_key(make=True)
    here, there = [
        await open_sqlite(tmp_path / "v.db", seal=sealer(FileKeyProvider(file))) for _ in range(2)
    ]
    mine, other = [Vault(store, FileKeyProvider(file), clock) for store in (here, there)]
    try:
        await fill(mine)
        assert await all_readable(other)
        rotated = await mine.rotate_key(actor="me")
        assert await all_readable(other)
        await other.set("theirs", "value", actor="you")
        newest = (await there.audit_page(AuditQuery()))[0]
        assert newest.key_id == rotated.key_id
        assert await key_ids(here) == {rotated.key_id}
        assert verify(tmp_path / "v.db", FileKeyProvider(file).master_key()).ok
    finally:
        await here.close()
        await there.close()


async def test_the_store_in_memory_rotates_alike(clock: FakeClock) -> None:
    keyring, database = Keyring(), MemoryDatabase()
    store = MemoryStore(database, seal=lambda name: sealer(keyring)(name, None))
    vault = Vault(store, keyring, clock)
    await fill(vault)
    for _ in range(3):
        rotated = await vault.rotate_key(actor="me")
        assert await key_ids(store) == {rotated.key_id}
    assert await all_readable(vault)
    assert isinstance(keyring.keys[0], MasterKey)
