from __future__ import annotations

import asyncio
import copy
import pickle
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypedDict

import pytest

from core.audit import open_chain, verify
from core.errors import SecretUnavailable, UsageError
from core.keys import MasterKey
from core.model.audit import AuditEntry, AuditRow
from core.model.secrets import SecretRecord
from core.model.words import AuditAction
from core.store import AuditQuery, SqliteStore, open_sqlite
from core.vault import Credential, Secret, Vault
from tests.fakes.clock import FakeClock
from tests.fakes.keys import Keyring

CANARY = "c4nary-Value-7391"


class Place(TypedDict):
    host: str
    port: int


HERE: Place = {"host": "api.example.com", "port": 443}


async def actions(store: SqliteStore) -> list[tuple[AuditAction, str | None, str]]:
    rows = await store.audit_page(AuditQuery())
    return [(row.action, row.credential, row.actor) for row in reversed(rows)]


async def stored(store: SqliteStore, name: str = "demo") -> SecretRecord:
    record = await store.get_secret(name)
    assert record is not None
    return record


async def test_a_secret_comes_back_as_it_was_set(vault: Vault) -> None:
    for value in ("x", CANARY, "a" * 16_384, " padded ", 'quo"te\\'):
        await vault.set("demo", value, actor="me")
        assert (await vault.read("demo", **HERE)).reveal() == value


async def test_each_change_has_its_row_and_reading_has_none(
    vault: Vault, store: SqliteStore, tmp_path: Path
) -> None:
    assert await vault.set("demo", CANARY, actor="me") is True
    assert await vault.set("demo", CANARY, actor="you") is False
    await vault.read("demo", **HERE)
    await vault.credential("demo")
    await vault.list()
    assert await vault.delete("demo", actor="me") is True
    assert await vault.delete("demo", actor="me") is False
    assert await actions(store) == [
        (AuditAction.SECRET_CREATED, "demo", "me"),
        (AuditAction.SECRET_UPDATED, "demo", "you"),
        (AuditAction.SECRET_DELETED, "demo", "me"),
    ]
    assert verify(tmp_path / "v.db", key=Keyring().keys[0]).ok


async def test_what_is_known_without_the_value(vault: Vault, clock: FakeClock) -> None:
    await vault.set("b", CANARY, hosts=("API.example.com", "*.x.dev"), actor="me")
    await vault.set("a", CANARY, header="X-Api-Key", actor="me")
    later = clock.now_us()
    first, second = await vault.list()
    assert first.credential == Credential("a", "header", "X-Api-Key")
    assert second.credential == Credential(
        "b", "bearer", "Authorization", ("api.example.com", "*.x.dev")
    )
    assert (second.version, second.created_us, second.updated_us) == (1, later, later)
    assert await vault.credential("b") == second.credential
    clock.advance(5)
    await vault.set("b", "other", actor="me")
    info = (await vault.list())[1]
    assert (info.version, info.created_us, info.updated_us) == (2, later, later + 5_000_000)
    assert info.credential.hosts == ()


async def test_listing_needs_no_key(store: SqliteStore, vault: Vault, clock: FakeClock) -> None:
    class NoKeys:
        def master_key(self, *, make: bool = False) -> MasterKey:
            raise SecretUnavailable("locked")

        def find(self, key_id: str) -> MasterKey | None:
            raise SecretUnavailable("locked")

        def renew(self, key_id: str) -> MasterKey:
            raise SecretUnavailable("locked")

    await vault.set("demo", CANARY, actor="me")
    locked = Vault(store, NoKeys(), clock)
    assert [info.credential.name for info in await locked.list()] == ["demo"]
    assert (await locked.credential("demo")).placement == "bearer"
    with pytest.raises(SecretUnavailable, match="locked"):
        await locked.read("demo", **HERE)
    with pytest.raises(SecretUnavailable, match="locked"):
        await locked.set("other", CANARY, actor="me")
    assert await store.get_secret("other") is None


async def test_a_missing_secret_is_unavailable(vault: Vault) -> None:
    with pytest.raises(SecretUnavailable, match="no such secret"):
        await vault.read("demo", **HERE)
    with pytest.raises(SecretUnavailable, match="no such secret"):
        await vault.credential("demo")


async def test_what_was_seen_is_known_without_asking_the_store(
    store: SqliteStore, vault: Vault, keyring: Keyring, clock: FakeClock
) -> None:
    await vault.set("demo", CANARY, hosts=("a.example",), actor="me")
    assert vault.known("demo").hosts == ("a.example",)
    other = Vault(store, keyring, clock)
    with pytest.raises(SecretUnavailable, match="no such secret"):
        other.known("demo")
    await other.list()
    assert other.known("demo") == vault.known("demo")
    await vault.delete("demo", actor="me")
    with pytest.raises(SecretUnavailable, match="no such secret"):
        vault.known("demo")


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": ""},
        {"name": "Upper"},
        {"name": ".dot"},
        {"name": "a b"},
        {"name": "a\n"},
        {"name": "a" * 65},
        {"value": ""},
        {"value": "   "},
        {"value": "a\nb"},
        {"value": "a\n"},
        {"value": "a\rb"},
        {"value": "a\x00b"},
        {"value": "a\x1bb"},
        {"value": "a\ud800"},
        {"value": "a\tb"},
        {"value": "ü"},
        {"value": "a" * 16_385},
        {"hosts": ("https://x",)},
        {"hosts": ("",)},
        {"hosts": ("a b",)},
        {"hosts": ("x.*",)},
        {"hosts": ("*.x.dev:8443",)},
        {"hosts": ("x.dev:99999",)},
        {"hosts": ("under_score.dev",)},
        {"hosts": ("127.1",)},
        {"header": ""},
        {"header": "a b"},
        {"header": "a:"},
        {"header": "a\r\nb"},
        {"header": "Host"},
        {"header": "content-length"},
        {"header": "Transfer-Encoding"},
    ],
)
async def test_what_cannot_be_used_is_refused_and_not_written(
    vault: Vault, store: SqliteStore, arguments: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as caught:
        await vault.set(**({"name": "demo", "value": CANARY, "actor": "me"} | arguments))
    assert CANARY not in f"{caught.value} {caught.value.where} {caught.value.hint}"
    assert await store.list_secrets() == []
    assert await actions(store) == []


async def test_nothing_stored_shows_the_value(
    vault: Vault, store: SqliteStore, tmp_path: Path
) -> None:
    await vault.set("demo", CANARY, actor="me")
    await vault.set("demo", CANARY + "2", actor="me")
    await vault.delete("demo", actor="me")
    await vault.set("demo", CANARY + "3", actor="me")
    assert CANARY not in repr(await stored(store))
    await store.close()
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        data = path.read_bytes()
        assert CANARY.encode() not in data, path
        assert Keyring().keys[0].reveal() not in data, path


async def test_equal_values_look_different(vault: Vault, store: SqliteStore) -> None:
    seen = []
    for name in ("a", "b", "a"):
        await vault.set(name, CANARY, actor="me")
        seen.append(await stored(store, name))
    for field in ("ciphertext", "nonce", "wrapped_key"):
        assert len({getattr(record, field) for record in seen}) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"version": 7},
        {"placement": "header"},
        {"field": "X-Other"},
        {"hosts": ("evil.example", "api.example.com")},
        {"hosts": ()},
        {"ciphertext": b""},
        {"ciphertext": b"x" * 40},
        {"nonce": b""},
        {"nonce": b"n" * 12},
        {"wrapped_key": b""},
        {"wrapped_key": b"w" * 60},
    ],
)
async def test_a_record_changed_outside_the_vault_is_unreadable(
    vault: Vault, store: SqliteStore, change: dict[str, Any]
) -> None:
    await vault.set("demo", CANARY, hosts=("api.example.com",), actor="me")
    record = replace(await stored(store), **change)
    (row,) = await store.audit_page(AuditQuery())
    await store.delete_secret("demo", row_entry(row))
    assert await store.put_secret(record, row_entry(row))
    with pytest.raises(SecretUnavailable, match="changed outside") as caught:
        await vault.read("demo", **HERE)
    assert caught.value.__cause__ is None


async def test_ciphertexts_do_not_move_between_secrets_or_versions(
    vault: Vault, store: SqliteStore
) -> None:
    await vault.set("demo", CANARY, actor="me")
    old = await stored(store)
    await vault.set("demo", "newer", actor="me")
    (row, *_) = await store.audit_page(AuditQuery())
    for moved in (replace(old, name="other"), replace(old, version=2)):
        await store.delete_secret(moved.name, row_entry(row))
        assert await store.put_secret(moved, row_entry(row))
        with pytest.raises(SecretUnavailable, match="changed outside"):
            await vault.read(moved.name, **HERE)


async def test_of_two_who_create_a_secret_one_updates_it(
    vault: Vault, store: SqliteStore, keyring: Keyring, clock: FakeClock
) -> None:
    other = Vault(store, keyring, clock)
    created = await asyncio.gather(
        vault.set("demo", "one", actor="me"), other.set("demo", "two", actor="you")
    )
    assert sorted(created) == [False, True]
    assert (await stored(store)).version == 2
    assert [action for action, _, _ in await actions(store)] == [
        AuditAction.SECRET_CREATED,
        AuditAction.SECRET_UPDATED,
    ]


async def test_another_master_key_is_named(
    vault: Vault, store: SqliteStore, keyring: Keyring
) -> None:
    await vault.set("demo", CANARY, actor="me")
    old = keyring.keys[0]
    keyring.keys = [MasterKey(b"x" * 32)]
    with pytest.raises(SecretUnavailable, match="another master key") as caught:
        await vault.read("demo", **HERE)
    assert old.key_id in caught.value.hint
    await vault.set("demo", "again", actor="me")
    assert (await vault.read("demo", **HERE)).reveal() == "again"


async def test_the_same_record_is_unreadable_in_another_database(
    vault: Vault, store: SqliteStore, keyring: Keyring, clock: FakeClock, tmp_path: Path
) -> None:
    await vault.set("demo", CANARY, actor="me")
    (row,) = await store.audit_page(AuditQuery())
    other = await open_sqlite(
        tmp_path / "other.db",
        seal=lambda database_id, _: open_chain(keyring.keys[0], database_id).seal,
    )
    try:
        await other.put_secret(await stored(store), row_entry(row))
        with pytest.raises(SecretUnavailable, match="changed outside"):
            await Vault(other, keyring, clock).read("demo", **HERE)
    finally:
        await other.close()


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret(CANARY)
    for shown in (
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        f"{[secret]}",
        "".join(["x", str(secret)]),
    ):
        assert CANARY not in shown
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leave(secret)
    with pytest.raises(TypeError):
        vars(secret)


def row_entry(row: AuditRow) -> AuditEntry:
    return AuditEntry(**{field.name: getattr(row, field.name) for field in fields(AuditEntry)})
