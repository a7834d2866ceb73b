from __future__ import annotations

import hashlib
import hmac
import pickle
import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.audit import Chain, open_chain
from core.keys import MasterKey
from core.model.audit import AuditEntry, AuditRow
from core.model.words import AuditAction
from tests.core.audit.logs import KEY, entry

CHAIN = Chain(b"c" * 32, "key-1", "db-1")

FIXED = AuditEntry(
    at_us=1_700_000_000_000_000,
    action=AuditAction.HTTP_CALL_CANCELLED,
    success=False,
    status=200,
    method="POST",
    host="api.example.com",
    path="/v1/ü",
    credential="demo",
    run_id=None,
    step="m2",
    call_id="call-1",
    actor="tester",
    message="",
)


def text(value: str | None) -> bytes:
    if value is None:
        return b"\x00"
    data = value.encode()
    return b"\x01" + struct.pack(">I", len(data)) + data


def by_the_book(row: AuditRow, previous: bytes, key: bytes) -> bytes:
    """Return a row's mac as the format's description says, without our code."""
    encoded = b"AUD1" + struct.pack(">Qq", row.seq, row.at_us) + text(row.action.value)
    encoded += struct.pack(">II", row.success, row.status)
    for value in (
        row.method,
        row.host,
        row.path,
        row.credential,
        row.run_id,
        row.step,
        row.call_id,
        row.actor,
        row.message,
        row.key_id,
    ):
        encoded += text(value)
    return hmac.new(key, previous + encoded, hashlib.sha256).digest()


def test_the_bytes_of_a_row_are_final() -> None:
    first = CHAIN.seal(None, 1, FIXED)
    second = CHAIN.seal(first.mac, 2, FIXED)
    assert CHAIN.genesis == hashlib.sha256(b"AUD1db-1").digest()
    assert first.mac == by_the_book(first, CHAIN.genesis, b"c" * 32)
    assert second.mac == by_the_book(second, first.mac, b"c" * 32)
    assert first.mac.hex() == "1491f6ea089f307f3184e620e2eed2e08cd628f4bed3641c8ed83b6ffe484ad9"
    assert second.mac.hex() == "4f401e22bec65aabed9eb98f50980631b2df26c49cefaf1f7243c9a69db61e99"
    derived = open_chain(KEY, "db-1").seal(None, 1, FIXED)
    assert derived.key_id == KEY.key_id == "609aee7d6ade7936"
    assert derived.mac.hex() == "b263fae943f16734b56595ed0a1f836dc47247d212a50ee57bd2f9facac8bedd"


TEXT = st.none() | st.text(max_size=6)
ENTRIES = st.builds(
    AuditEntry,
    at_us=st.integers(-(2**63), 2**63 - 1),
    action=st.sampled_from(AuditAction),
    success=st.booleans(),
    status=st.integers(0, 999),
    method=TEXT,
    host=TEXT,
    path=TEXT,
    credential=TEXT,
    run_id=TEXT,
    step=TEXT,
    call_id=TEXT,
    actor=st.text(max_size=6),
    message=TEXT,
)


@settings(max_examples=150)
@given(ENTRIES, ENTRIES, st.integers(2, 2**63))
def test_only_the_same_row_has_the_same_mac(one: AuditEntry, other: AuditEntry, seq: int) -> None:
    previous = b"p" * 32
    row = CHAIN.seal(previous, seq, one)
    assert row.mac == by_the_book(row, previous, b"c" * 32)
    second = CHAIN.seal(previous, seq, other)
    assert (row.mac == second.mac) == (row == second)


@pytest.mark.parametrize(
    "change",
    [
        {"host": "api.example.co", "path": "m/v1/ü"},
        {"run_id": "m2", "step": None},
        {"message": None},
        {"success": True},
        {"status": 201},
        {"at_us": FIXED.at_us - 1},
        {"action": AuditAction.HTTP_CALL},
    ],
)
def test_no_two_entries_share_their_bytes(change: dict[str, Any]) -> None:
    assert CHAIN.seal(None, 1, replace(FIXED, **change)).mac != CHAIN.seal(None, 1, FIXED).mac


def test_everything_around_a_row_counts() -> None:
    row = CHAIN.seal(b"p" * 32, 2, FIXED)
    others = [
        CHAIN.seal(b"q" * 32, 2, FIXED),
        CHAIN.seal(b"p" * 32, 3, FIXED),
        Chain(b"d" * 32, "key-1", "db-1").seal(b"p" * 32, 2, FIXED),
        Chain(b"c" * 32, "key-2", "db-1").seal(b"p" * 32, 2, FIXED),
    ]
    assert row.mac not in [other.mac for other in others]
    assert Chain(b"c" * 32, "key-1", "db-2").genesis != CHAIN.genesis
    assert (
        open_chain(KEY, "a").seal(None, 1, FIXED).mac
        != open_chain(KEY, "b").seal(None, 1, FIXED).mac
    )


def test_a_row_holds_what_was_sealed() -> None:
    row = CHAIN.seal(None, 1, FIXED)
    assert (row.seq, row.key_id, len(row.mac)) == (1, "key-1", 32)
    assert all(getattr(row, name) == getattr(FIXED, name) for name in FIXED.__slots__)


def test_text_a_store_cannot_keep_is_replaced_before_it_is_sealed() -> None:
    dirty = replace(FIXED, path="/\x00\ud800a\udfff", actor="\x00", message="plain ü")
    row = CHAIN.seal(None, 1, dirty)
    assert (row.path, row.actor, row.message) == ("/\ufffd\ufffda\ufffd", "\ufffd", "plain ü")
    assert row.mac == by_the_book(row, CHAIN.genesis, b"c" * 32)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"action": "http_call"}, TypeError),
        ({"action": "invented"}, TypeError),
        ({"success": 1}, TypeError),
        ({"status": "200"}, TypeError),
        ({"status": True}, TypeError),
        ({"status": 1000}, ValueError),
        ({"status": -1}, ValueError),
        ({"at_us": 1.5}, TypeError),
        ({"at_us": 2**63}, ValueError),
        ({"host": b"x"}, TypeError),
        ({"host": 5}, TypeError),
        ({"actor": None}, TypeError),
    ],
)
def test_what_no_row_may_hold_is_refused(change: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        CHAIN.seal(None, 1, replace(FIXED, **change))


@pytest.mark.parametrize(("previous", "seq"), [(None, 2), (b"p" * 32, 1)])
def test_only_the_first_row_has_none_before_it(previous: bytes | None, seq: int) -> None:
    with pytest.raises(ValueError, match="first"):
        CHAIN.seal(previous, seq, entry())


def test_a_chain_shows_no_key() -> None:
    secret = bytes(range(32))
    chain = Chain(secret, "key-1", "db-1")
    shown = repr(chain) + repr(chain.mac) + str(MasterKey(secret))
    assert secret.hex() not in shown
    assert repr(secret) not in shown
    with pytest.raises(TypeError):
        pickle.dumps(chain)


def test_a_key_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Chain(b"short", "key-1", "db-1")
