"""What every store does with secrets' columns, retired keys and a new master key."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from core.errors import StoreUnavailable
from core.model import AuditAction
from core.model.secrets import SecretRecord
from core.store import AuditQuery, KeyRotation, Store
from tests.core.store.builders import (
    assert_chained,
    entry,
    retired,
    rewrapped,
    rotation,
    secret,
)
from tests.core.store.conftest import StoreFactory

A = AuditAction


@pytest.fixture
async def secrets(store: Store) -> list[SecretRecord]:
    """Two secrets under ``k1``, one of them in its second version and of the first format."""
    await store.put_secret(replace(secret("a"), key_id="k1"), entry(A.SECRET_CREATED))
    old = replace(secret("b"), key_id="k1", format=1)
    await store.put_secret(old, entry(A.SECRET_CREATED))
    await store.put_secret(replace(old, version=2), entry(A.SECRET_UPDATED))
    return await store.list_secrets()


async def test_every_column_of_a_secret_comes_back(store: Store) -> None:
    given = replace(
        secret("a"), expires_us=99, description="a line \U0001f600", format=1, placement="query"
    )
    assert await store.put_secret(given, entry(A.SECRET_CREATED))
    assert await store.get_secret("a") == given
    changed = replace(given, version=2, expires_us=None, description="", format=2)
    assert await store.put_secret(changed, entry(A.SECRET_UPDATED))
    assert await store.list_secrets() == [changed]


async def test_a_new_key_replaces_what_is_wrapped_and_nothing_else(
    store: Store, secrets: list[SecretRecord]
) -> None:
    assert await store.chain_keys() == []
    assert await store.rotate_key(rotation(store, secrets, "k1", before="k1", after="k2"))
    assert await store.list_secrets() == [rewrapped(record, "k2") for record in secrets]
    assert await store.chain_keys() == [*retired("k1", by="k2")]
    await store.append_audit(entry())
    rows = (await store.audit_page(AuditQuery()))[::-1]
    assert [row.key_id for row in rows] == ["k1", "k1", "k1", "k2", "k2"]
    assert rows[3].action is A.MASTER_KEY_ROTATED
    assert_chained(rows, store.database_id)


async def test_metadata_of_a_rotation_is_not_stored(
    store: Store, secrets: list[SecretRecord]
) -> None:
    made = rotation(store, secrets, "k1", before="k1", after="k2")
    strange = tuple(replace(it, hosts=("evil.test",), field="Y") for it in made.secrets)
    assert await store.rotate_key(replace(made, secrets=strange))
    assert [record.hosts for record in await store.list_secrets()] == [
        record.hosts for record in secrets
    ]


async def test_keys_retired_before_are_wrapped_anew(
    store: Store, secrets: list[SecretRecord]
) -> None:
    assert await store.rotate_key(rotation(store, secrets, "k1", before="k1", after="k2"))
    wrapped = await store.list_secrets()
    assert await store.rotate_key(rotation(store, wrapped, "k1", "k2", before="k2", after="k3"))
    assert await store.chain_keys() == [*retired("k1", "k2", by="k3")]
    await store.append_audit(entry())
    rows = (await store.audit_page(AuditQuery()))[::-1]
    assert [row.key_id for row in rows] == ["k1"] * 3 + ["k2"] + ["k3"] * 2
    assert_chained(rows, store.database_id)


async def test_a_key_that_comes_back_is_retired_no_longer(
    store: Store, secrets: list[SecretRecord]
) -> None:
    assert await store.rotate_key(rotation(store, secrets, "k1", before="k1", after="k2"))
    wrapped = await store.list_secrets()
    assert await store.rotate_key(rotation(store, wrapped, "k1", "k2", before="k2", after="k1"))
    assert await store.chain_keys() == [*retired("k2", by="k1")]
    await store.append_audit(entry())
    rows = (await store.audit_page(AuditQuery()))[::-1]
    assert [row.key_id for row in rows] == ["k1"] * 3 + ["k2"] + ["k1"] * 2
    assert_chained(rows, store.database_id)


def without_one(made: KeyRotation) -> KeyRotation:
    return replace(made, secrets=made.secrets[1:])


def with_one_more(made: KeyRotation) -> KeyRotation:
    return replace(made, secrets=(*made.secrets, rewrapped(secret("c"), "k2")))


def of_another_version(made: KeyRotation) -> KeyRotation:
    return replace(made, secrets=(made.secrets[0], replace(made.secrets[1], version=1)))


def of_another_key(made: KeyRotation) -> KeyRotation:
    return replace(made, before="k3", chain_keys=retired("k3", by="k2"))


def with_an_unknown_chain_key(made: KeyRotation) -> KeyRotation:
    return replace(made, chain_keys=retired("k1", "k3", by="k2"))


@pytest.mark.parametrize(
    "spoil",
    [without_one, with_one_more, of_another_version, of_another_key, with_an_unknown_chain_key],
)
async def test_a_rotation_made_from_something_else_changes_nothing(
    store: Store, secrets: list[SecretRecord], spoil: object
) -> None:
    assert callable(spoil)
    made = rotation(store, secrets, "k1", before="k1", after="k2")
    assert not await store.rotate_key(spoil(made))
    assert await store.list_secrets() == secrets
    assert await store.chain_keys() == []
    row = await store.append_audit(entry())
    assert (row.seq, row.key_id) == (4, "k1")


async def test_a_rotation_that_lacks_a_retired_key_changes_nothing(
    store: Store, secrets: list[SecretRecord]
) -> None:
    assert await store.rotate_key(rotation(store, secrets, "k1", before="k1", after="k2"))
    wrapped = await store.list_secrets()
    assert not await store.rotate_key(rotation(store, wrapped, "k2", before="k2", after="k3"))
    with pytest.raises(ValueError, match="retired"):
        await store.rotate_key(rotation(store, wrapped, "k1", before="k2", after="k3"))
    assert await store.list_secrets() == wrapped
    assert await store.chain_keys() == [*retired("k1", by="k2")]


async def test_a_key_that_wraps_nothing_here_is_not_replaced(store: Store) -> None:
    assert await store.rotate_key(rotation(store, [], "k1", before="k1", after="k2"))
    assert not await store.rotate_key(rotation(store, [], "k1", "m1", before="m1", after="k3"))
    assert await store.chain_keys() == [*retired("k1", by="k2")]


async def test_of_two_rotations_at_once_one_wins(
    store: Store, store_factory: StoreFactory, secrets: list[SecretRecord]
) -> None:
    other = await store_factory()
    results = await asyncio.gather(
        store.rotate_key(rotation(store, secrets, "k1", before="k1", after="k2")),
        other.rotate_key(rotation(other, secrets, "k1", before="k1", after="k3")),
    )
    assert sorted(results) == [False, True]
    key_id = "k2" if results[0] else "k3"
    assert {record.key_id for record in await store.list_secrets()} == {key_id}
    rows = [await each.append_audit(entry()) for each in (store, other)]
    assert [row.key_id for row in rows] == [key_id] * 2


async def test_a_secret_that_changed_meanwhile_refuses_the_rotation(
    store: Store, secrets: list[SecretRecord]
) -> None:
    made = rotation(store, secrets, "k1", before="k1", after="k2")
    await store.put_secret(replace(secrets[0], version=2), entry(A.SECRET_UPDATED))
    assert not await store.rotate_key(made)
    fresh = await store.list_secrets()
    assert await store.rotate_key(rotation(store, fresh, "k1", before="k1", after="k2"))


async def test_other_processes_seal_with_the_new_key_from_then_on(
    store: Store, store_factory: StoreFactory, secrets: list[SecretRecord]
) -> None:
    other = await store_factory()
    assert (await other.append_audit(entry())).key_id == "k1"
    assert await store.rotate_key(rotation(store, secrets, "k1", before="k1", after="k2"))
    assert (await other.append_audit(entry())).key_id == "k2"
    late = await store_factory()
    assert (await late.append_audit(entry())).key_id == "k2"
    assert_chained((await late.audit_page(AuditQuery()))[::-1], late.database_id)


async def test_a_closed_store_refuses_a_new_key(store: Store, secrets: list[SecretRecord]) -> None:
    made = rotation(store, secrets, "k1", before="k1", after="k2")
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.rotate_key(made)
