"""Verifying a log that several keys sealed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.audit import AuditLog, open_chain, retire_key, rewrap_key, sealer, verify, verify_log
from core.errors import SecretUnavailable
from core.keys import FileKeyProvider, MasterKey
from core.model import AuditAction, AuditEntry
from core.store import KeyRotation, SqliteStore, open_sqlite
from tests.core.audit.logs import copy_log, entry, tampering
from tests.fakes.keys import Keyring

FIRST, SECOND, THIRD = (MasterKey(letter * 32) for letter in (b"1", b"2", b"3"))
DATABASE = "0b1f"


def holding(*keys: MasterKey) -> Keyring:
    return Keyring(*(key.reveal() for key in keys))


@asynccontextmanager
async def opened(path: Path, key: MasterKey) -> AsyncIterator[SqliteStore]:
    store = await open_sqlite(path, seal=sealer(holding(key)), synchronous="normal")
    try:
        yield store
    finally:
        await store.close()


async def rotate(store: SqliteStore, before: MasterKey, after: MasterKey) -> None:
    kept = [
        rewrap_key(record, before, after, store.database_id) for record in await store.chain_keys()
    ]
    rotation = KeyRotation(
        before=before.key_id,
        secrets=(),
        chain_keys=(*kept, retire_key(before, after, store.database_id)),
        entry=AuditEntry(
            at_us=1, action=AuditAction.MASTER_KEY_ROTATED, success=True, actor="tester"
        ),
        seal=open_chain(after, store.database_id).seal,
    )
    assert await store.rotate_key(rotation)


async def write(path: Path) -> Path:
    """Make a log: rows 1 to 3 of the first key, 4 to 6 of the second, 7 to 9 of the third."""
    async with opened(path, FIRST) as store:
        log = AuditLog(store)
        for number in (1, 2, 3):
            await log.append(entry(number))
        for before, after in ((FIRST, SECOND), (SECOND, THIRD)):
            await rotate(store, before, after)
            for number in range(2):
                await log.append(entry(int(after.key_id, 16) % 2**40 + number))
    return path


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(write(tmp_path_factory.mktemp("log") / "log.db"))


@pytest.fixture
def log(original: Path, tmp_path: Path) -> Path:
    return copy_log(original, tmp_path / "log.db")


def found(path: Path, key: MasterKey = THIRD) -> list[tuple[str, int]]:
    return [(reason.value, seq) for reason, seq in verify(path, key=key).findings]


def test_the_key_in_use_verifies_the_whole_log(log: Path) -> None:
    result = verify(log, key=THIRD)
    assert (result.ok, result.rows) == (True, 9)


@pytest.mark.parametrize("seq", range(1, 10))
def test_an_edit_is_found_whatever_key_sealed_the_row(log: Path, seq: int) -> None:
    with tampering(log) as connection:
        connection.execute("UPDATE audit SET actor = 'x' WHERE seq = ?", (seq,))
    assert found(log) == [("edited", seq)]


def test_a_row_that_names_another_known_key_is_edited(log: Path) -> None:
    with tampering(log) as connection:
        connection.execute("UPDATE audit SET key_id = ? WHERE seq = 2", (THIRD.key_id,))
    assert found(log) == [("edited", 2)]


def test_a_rotation_cut_out_is_missing(log: Path) -> None:
    with tampering(log) as connection:
        connection.execute("DELETE FROM audit WHERE seq = 4")
    assert found(log) == [("missing", 4)]


def test_an_earlier_key_alone_knows_its_own_rows(log: Path) -> None:
    assert found(log, FIRST) == [("key_unknown", 4), ("key_unknown", 7)]
    assert found(log, SECOND) == [("key_unknown", 1), ("key_unknown", 7)]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM chain_key WHERE key_id = '{0}'",
        "UPDATE chain_key SET wrapped_key = randomblob(60) WHERE key_id = '{0}'",
        "UPDATE chain_key SET wrapped_key = x'' WHERE key_id = '{0}'",
        "UPDATE chain_key SET wrapped_by = '{1}' WHERE key_id = '{0}'",
        "UPDATE chain_key SET wrapped_key ="
        " (SELECT wrapped_key FROM chain_key WHERE key_id = '{1}') WHERE key_id = '{0}'",
    ],
)
def test_a_retired_key_that_was_changed_is_unknown(log: Path, statement: str) -> None:
    with tampering(log) as connection:
        connection.execute(statement.format(FIRST.key_id, SECOND.key_id))
    assert found(log) == [("key_unknown", 1)]
    assert verify_log(log, holding(THIRD, FIRST)).ok, "the key itself still proves its rows"


def test_a_retired_key_opens_in_its_own_database_only() -> None:
    record = retire_key(FIRST, SECOND, DATABASE)
    assert rewrap_key(record, SECOND, THIRD, DATABASE).key_id == FIRST.key_id
    for before, database in ((THIRD, DATABASE), (SECOND, "0b1e")):
        with pytest.raises(SecretUnavailable, match="changed outside") as caught:
            rewrap_key(record, before, THIRD, database)
        assert caught.value.code == "secret_damaged"


def test_rows_that_name_countless_keys_are_one_scan(log: Path) -> None:
    with tampering(log) as connection:
        connection.execute(
            "UPDATE audit SET key_id = lower(hex(randomblob(8))) WHERE seq BETWEEN 4 AND 6"
        )
    assert [seq for _, seq in found(log)] == [4, 5, 6]


async def test_the_key_files_earlier_keys_verify_an_unfinished_rotation(tmp_path: Path) -> None:
    keys = FileKeyProvider()
    first = keys.master_key(make=True)
    async with opened(tmp_path / "log.db", first) as store:
        await store.append_audit(entry())
    second = keys.renew(first.key_id)
    assert verify(tmp_path / "log.db").ok
    assert found(tmp_path / "log.db", second) == [("key_unknown", 1)]


async def test_a_log_opens_with_the_key_that_sealed_it(tmp_path: Path) -> None:
    async with opened(tmp_path / "log.db", FIRST) as store:
        await store.append_audit(entry(1))
    store = await open_sqlite(tmp_path / "log.db", seal=sealer(holding(SECOND, FIRST)))
    row = await store.append_audit(entry(2))
    await store.close()
    assert row.key_id == FIRST.key_id
    assert verify(tmp_path / "log.db", FIRST).ok
