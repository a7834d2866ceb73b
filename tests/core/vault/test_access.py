from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from core.audit import verify
from core.config import Placement
from core.errors import AuditUnavailable, SecretUnavailable, UsageError
from core.model import AuditAction, AuditEntry, AuditRow
from core.store import AuditQuery, SqliteStore
from core.vault import Credential, Vault
from tests.fakes.clock import FakeClock
from tests.fakes.keys import Keyring

VALUE = "c4nary-Value-7391"


async def rows(store: SqliteStore) -> list[AuditRow]:
    return list(reversed(await store.audit_page(AuditQuery())))


async def refusal(vault: Vault, name: str = "key", host: str = "a.example", port: int = 443) -> str:
    with pytest.raises(SecretUnavailable) as caught:
        await vault.read(name, host=host, port=port)
    assert VALUE not in f"{caught.value!r} {caught.value.where} {caught.value.hint}"
    return caught.value.code


@pytest.mark.parametrize(
    ("hosts", "host", "port", "admitted"),
    [
        ((), "anywhere.example", 1, True),
        (("a.example",), "a.example", 8443, True),
        (("a.example:443",), "a.example", 443, True),
        (("a.example:443",), "a.example", 8443, False),
        (("a.example",), "b.example", 443, False),
        (("*.a.example",), "x.a.example", 443, True),
        (("*.a.example",), "a.example", 443, False),
        (("A.EXAMPLE",), "a.example", 443, True),
        (("[::1]:80",), "::1", 80, True),
        (("[::1]:80",), "::1", 81, False),
    ],
)
async def test_a_secret_goes_to_its_own_hosts_only(
    vault: Vault, keyring: Keyring, hosts: tuple[str, ...], host: str, port: int, admitted: bool
) -> None:
    await vault.set("key", VALUE, hosts=hosts, actor="me")
    if admitted:
        assert (await vault.read("key", host=host, port=port)).reveal() == VALUE
    else:
        fresh = Vault(vault._store, keyring, FakeClock())
        keyring.asked.clear()
        assert await refusal(fresh, host=host, port=port) == "secret_not_for_host"
        assert keyring.asked == [], "no key is asked for, so nothing can be decrypted"


async def test_a_secret_is_refused_from_its_end_on(
    vault: Vault, clock: FakeClock, keyring: Keyring, store: SqliteStore
) -> None:
    await vault.set("key", VALUE, expires_us=clock.now_us() + 10_000_000, actor="me")
    clock.advance(9)
    assert (await vault.read("key", host="a.example", port=443)).reveal() == VALUE
    clock.advance(1)
    fresh = Vault(store, keyring, clock)
    keyring.asked.clear()
    assert await refusal(fresh) == "secret_expired"
    assert keyring.asked == []
    await vault.set("key", VALUE, actor="me")
    assert (await vault.read("key", host="a.example", port=443)).reveal() == VALUE


async def test_each_reason_has_its_code(
    vault: Vault, store: SqliteStore, keyring: Keyring, clock: FakeClock
) -> None:
    assert await refusal(vault, "none") == "secret_missing"
    await vault.set("key", VALUE, actor="me")
    entry = AuditEntry(at_us=1, action=AuditAction.SECRET_UPDATED, success=True, actor="x")
    record = await store.get_secret("key")
    assert record is not None
    await store.put_secret(replace(record, version=2), entry)
    assert await refusal(vault) == "secret_damaged"
    keyring.keys.clear()
    assert await refusal(Vault(store, keyring, clock)) == "secret_locked"


async def test_prolonging_or_widening_a_record_makes_it_unreadable(
    vault: Vault, store: SqliteStore, clock: FakeClock
) -> None:
    end = clock.now_us() + 1_000_000
    changes: list[dict[str, Any]] = [{"expires_us": None}, {"hosts": ()}, {"expires_us": end + 1}]
    for number, change in enumerate(changes):
        name = f"key{number}"
        await vault.set(name, VALUE, hosts=("a.example",), expires_us=end, actor="me")
        record = await store.get_secret(name)
        assert record is not None
        entry = AuditEntry(at_us=1, action=AuditAction.SECRET_UPDATED, success=True, actor="x")
        await store.delete_secret(name, entry)
        await store.put_secret(replace(record, **change), entry)
        assert await refusal(vault, name) == "secret_damaged"


async def test_a_value_that_somebody_reads_is_in_the_log_first(
    vault: Vault, store: SqliteStore, path: Path, keyring: Keyring
) -> None:
    await vault.set("key", VALUE, hosts=("a.example",), actor="me")
    assert (await vault.get("key", actor="you")).reveal() == VALUE
    row = (await rows(store))[-1]
    assert (row.action, row.success, row.credential, row.actor, row.message) == (
        AuditAction.SECRET_READ, True, "key", "you", None,
    )  # fmt: skip
    assert verify(path, keyring.keys[0]).ok


async def test_no_value_without_its_row(
    vault: Vault, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await vault.set("key", VALUE, actor="me")

    async def refuse(entry: AuditEntry) -> AuditRow:
        raise AuditUnavailable("down")

    monkeypatch.setattr(store, "append_audit", refuse)
    with pytest.raises(AuditUnavailable):
        await vault.get("key", actor="you")
    assert [row.action for row in await rows(store)] == [AuditAction.SECRET_CREATED]


async def test_a_read_that_fails_is_in_the_log_too(
    vault: Vault, store: SqliteStore, clock: FakeClock
) -> None:
    await vault.set("key", VALUE, expires_us=clock.now_us(), actor="me")
    with pytest.raises(SecretUnavailable, match="expired"):
        await vault.get("key", actor="you")
    row = (await rows(store))[-1]
    assert (row.action, row.success, row.message) == (
        AuditAction.SECRET_READ, False, "The secret has expired",
    )  # fmt: skip
    with pytest.raises(SecretUnavailable, match="no such"):
        await vault.get("none", actor="you")


async def test_a_rotated_secret_keeps_all_but_its_value(
    vault: Vault, store: SqliteStore, clock: FakeClock
) -> None:
    end = clock.now_us() + 60_000_000
    await vault.set(
        "key", VALUE, hosts=("a.example",), header="X-Key", expires_us=end, description="mine",
        actor="me",
    )  # fmt: skip
    before = await store.get_secret("key")
    assert before is not None
    clock.advance(5)
    assert await vault.rotate("key", "new value", actor="you") == 2
    after = await store.get_secret("key")
    assert after is not None
    changed = {
        item.name
        for item in fields(after)
        if getattr(after, item.name) != getattr(before, item.name)
    }
    assert changed == {"version", "updated_us", "nonce", "ciphertext", "wrapped_key"}
    assert (await vault.read("key", host="a.example", port=1)).reveal() == "new value"
    row = (await rows(store))[-1]
    assert (row.action, row.credential, row.actor) == (AuditAction.SECRET_ROTATED, "key", "you")


async def test_what_cannot_be_rotated_is_refused(vault: Vault, store: SqliteStore) -> None:
    with pytest.raises(SecretUnavailable) as caught:
        await vault.rotate("none", VALUE, actor="me")
    assert caught.value.code == "secret_missing"
    await vault.set("key", VALUE, actor="me")
    for value in ("", "ü", "a\nb"):
        with pytest.raises(UsageError):
            await vault.rotate("key", value, actor="me")
    assert (await vault.read("key", host="a.example", port=1)).reveal() == VALUE
    assert len(await rows(store)) == 1


IN_HEADER: tuple[Placement, ...] = ("bearer", "basic", "api_key")
ELSEWHERE: tuple[Placement, ...] = ("query", "body_field", "oauth2")


@pytest.mark.parametrize("placement", ELSEWHERE)
async def test_what_travels_elsewhere_may_be_any_printable_text(
    vault: Vault, placement: Placement
) -> None:
    for value in ("pä ss—wörd", "日本", "x" * 16_384):
        await vault.set("key", value, placement=placement, actor="me")
        assert (await vault.read("key", host="a.example", port=1)).reveal() == value
    for value in ("a\nb", "a\x00", "a\x1b[2J", "a\u202e", "x" * 16_385, "a\ud800", "\u2028"):
        with pytest.raises(UsageError):
            await vault.set("key", value, placement=placement, actor="me")


@pytest.mark.parametrize("placement", IN_HEADER)
async def test_what_travels_in_a_header_has_to_fit_there(
    vault: Vault, placement: Placement
) -> None:
    await vault.set("key", "user:pass word", placement=placement, actor="me")
    for value in ("ü", "a\tb", "a\r\nb"):
        with pytest.raises(UsageError):
            await vault.set("key", value, placement=placement, actor="me")


@pytest.mark.parametrize(
    "arguments",
    [
        {"placement": "cookie"},
        {"placement": "header"},
        {"placement": "bearer", "field": "X-Key"},
        {"placement": "query", "field": "a&b"},
        {"placement": "query", "field": ""},
        {"placement": "body_field", "field": "1a"},
        {"placement": "body_field", "field": "a" * 65},
        {"placement": "api_key", "field": "Host"},
        {"header": "X-Key", "field": "X-Other"},
        {"header": "X-Key", "placement": "query"},
        {"description": "two\nlines"},
        {"description": "\x1b[2J"},
        {"description": "x" * 201},
        {"expires_us": -1},
        {"expires_us": 2**62},
    ],
)
async def test_what_makes_no_sense_is_refused(
    vault: Vault, store: SqliteStore, arguments: dict[str, Any]
) -> None:
    with pytest.raises(UsageError):
        await vault.set("key", VALUE, actor="me", **arguments)
    assert await rows(store) == []


@pytest.mark.parametrize(
    ("placement", "field"),
    [
        ("bearer", "Authorization"),
        ("basic", "Authorization"),
        ("api_key", "X-API-Key"),
        ("query", "api_key"),
        ("body_field", "api_key"),
        ("oauth2", "Authorization"),
    ],
)
async def test_a_placement_has_a_field_of_its_own(
    vault: Vault, placement: Placement, field: str
) -> None:
    await vault.set("key", VALUE, placement=placement, actor="me")
    assert vault.known("key") == Credential("key", placement, field)


async def test_a_description_and_an_end_are_listed(vault: Vault, clock: FakeClock) -> None:
    end = clock.now_us() + 1
    await vault.set("key", VALUE, description="for the bill", expires_us=end, actor="me")
    [info] = await vault.list()
    assert (info.description, info.credential.expires_us) == ("for the bill", end)


async def test_unlocking_asks_for_each_key_once(
    vault: Vault, store: SqliteStore, keyring: Keyring, clock: FakeClock
) -> None:
    await vault.set("a", VALUE, actor="me")
    await vault.set("b", VALUE, actor="me")
    fresh = Vault(store, keyring, clock)
    keyring.asked.clear()
    await fresh.unlock()
    await fresh.read("a", host="a.example", port=1)
    await fresh.read("b", host="a.example", port=1)
    assert keyring.asked == [keyring.keys[0].key_id]
    keyring.keys.clear()
    await Vault(store, keyring, clock).unlock()
