from __future__ import annotations

import os
import struct
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import SecretUnavailable
from core.keys import MasterKey, derive
from core.model.secrets import SecretRecord
from core.vault._envelope import rewrap, seal, unseal

MASTER = MasterKey(b"k" * 32)
OTHER = MasterKey(b"o" * 32)
DATABASE = "0b1f"
VALUE = "c4nary-Value-7391"

BARE = SecretRecord(
    name="name",
    version=3,
    placement="header",
    field="X-Key",
    hosts=("a.example", "*.b.example"),
    expires_us=1_900_000_000_000_000,
    description="for tests",
    key_id="",
    wrapped_key=b"",
    nonce=b"",
    ciphertext=b"",
    created_us=1,
    updated_us=2,
)
RECORD = seal(BARE, VALUE, MASTER, DATABASE)

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "name": TEXT,
    "version": st.integers(-5, 2**65),
    "placement": TEXT,
    "field": TEXT,
    "hosts": st.lists(TEXT, max_size=3).map(tuple),
    "expires_us": st.none() | st.integers(-(2**63), 2**63 - 1),
    "format": st.integers(-1, 4),
    "key_id": st.just(OTHER.key_id) | TEXT,
    "nonce": st.binary(max_size=16),
    "ciphertext": st.binary(max_size=48),
    "wrapped_key": st.binary(max_size=64),
}


def first_format(value: str, database: str = DATABASE, **changed: Any) -> SecretRecord:
    """Seal as the first version did, written out from its description."""
    record = replace(
        BARE, format=1, expires_us=None, key_id=MASTER.key_id, nonce=os.urandom(12), **changed
    )
    texts = (record.name, record.key_id, record.placement, record.field, *record.hosts)
    bound = b"stepbrake secret v1" + struct.pack(">QI", record.version, len(texts))
    bound += b"".join(struct.pack(">I", len(text)) + text.encode() for text in texts)
    data_key, nonce = os.urandom(32), os.urandom(12)
    wrapping = AESGCM(derive(MASTER, "stepbrake vault wrapping key v1", database))
    return replace(
        record,
        wrapped_key=nonce + wrapping.encrypt(nonce, data_key, bound),
        ciphertext=AESGCM(data_key).encrypt(record.nonce, value.encode(), bound),
    )


def refused(record: SecretRecord, master: MasterKey = MASTER, database: str = DATABASE) -> None:
    with pytest.raises(SecretUnavailable, match="changed outside") as caught:
        unseal(record, master, database)
    assert caught.value.code == "secret_damaged"
    assert caught.value.__cause__ is None
    assert VALUE not in repr(caught.value)


@settings(max_examples=60, deadline=None)
@given(value=st.text(st.characters(codec="utf-8"), min_size=1, max_size=200))
def test_any_value_comes_back(value: str) -> None:
    assert unseal(seal(BARE, value, MASTER, DATABASE), MASTER, DATABASE).reveal() == value


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_change_of_what_is_bound_is_noticed(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, unique=True))
    changed = replace(RECORD, **{name: data.draw(CHANGES[name], label=name) for name in names})
    if changed != RECORD:
        refused(changed)


@pytest.mark.parametrize("name", ["ciphertext", "wrapped_key", "nonce"])
def test_each_bit_counts(name: str) -> None:
    original = getattr(RECORD, name)
    for position in range(len(original)):
        damaged = bytearray(original)
        damaged[position] ^= 1 << (position % 8)
        change: dict[str, Any] = {name: bytes(damaged)}
        refused(replace(RECORD, **change))


@pytest.mark.parametrize(
    "hosts",
    [("a.example*.b.example",), ("*.b.example", "a.example"), ("a.example", "*.b.example", "")],
)
def test_neighbouring_texts_do_not_run_into_each_other(hosts: tuple[str, ...]) -> None:
    refused(replace(RECORD, hosts=hosts))


def test_another_database_or_key_opens_nothing() -> None:
    refused(RECORD, database="0b1e")
    refused(RECORD, master=OTHER)
    refused(replace(RECORD, key_id=OTHER.key_id), master=OTHER)


def test_what_is_not_bound_may_change() -> None:
    changed = replace(RECORD, description="other", created_us=9, updated_us=9)
    assert unseal(changed, MASTER, DATABASE).reveal() == VALUE


def test_rewrapping_changes_the_wrapped_key_alone() -> None:
    moved = rewrap(RECORD, MASTER, OTHER, DATABASE)
    assert moved == replace(RECORD, key_id=OTHER.key_id, wrapped_key=moved.wrapped_key)
    assert moved.wrapped_key != RECORD.wrapped_key
    assert unseal(moved, OTHER, DATABASE).reveal() == VALUE
    refused(moved)


def test_the_first_format_stays_readable_and_becomes_the_second() -> None:
    old = first_format(VALUE)
    assert unseal(old, MASTER, DATABASE).reveal() == VALUE
    moved = rewrap(old, MASTER, OTHER, DATABASE)
    assert (moved.format, moved.version, moved.name) == (2, old.version, old.name)
    assert moved.ciphertext != old.ciphertext
    assert unseal(moved, OTHER, DATABASE).reveal() == VALUE


@pytest.mark.parametrize(
    "change",
    [
        {"hosts": ()},
        {"version": 4},
        {"format": 2},
        {"expires_us": 1_900_000_000_000_000},
        {"placement": "bearer"},
    ],
)
def test_the_first_format_binds_too(change: dict[str, Any]) -> None:
    refused(replace(first_format(VALUE), **change))


def test_what_cannot_be_read_is_not_rewrapped() -> None:
    for damaged in (
        replace(RECORD, hosts=()),
        replace(RECORD, ciphertext=RECORD.ciphertext[:-1]),
        replace(first_format(VALUE), hosts=()),
    ):
        with pytest.raises(SecretUnavailable, match="changed outside"):
            rewrap(damaged, MASTER, OTHER, DATABASE)
