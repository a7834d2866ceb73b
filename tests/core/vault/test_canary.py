"""No secret and no key shows itself anywhere."""

from __future__ import annotations

import base64
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.audit import sealer
from core.errors import SecretUnavailable, StepbrakeError, UsageError
from core.keys import FileKeyProvider, KeyProvider
from core.store import AuditQuery, SqliteStore, open_sqlite
from core.vault import Vault
from core.vault._envelope import rewrap
from tests.fakes.clock import FakeClock

FIRST, SECOND = "c4nary-first-Value-7391", "c4nary-second-Value-2846"


def spellings(*values: bytes) -> Iterator[bytes]:
    """Yield each value as it might lie in a file."""
    for value in values:
        yield value
        yield value.hex().encode()
        yield value.hex().upper().encode()
        yield base64.b64encode(value).rstrip(b"=")[:-1]
        yield value.decode("latin-1").encode("utf-16-le")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_clean(where: dict[str, bytes], *values: bytes) -> None:
    for name, data in where.items():
        for spelling in spellings(*values):
            assert spelling not in data, name


class Opened:
    """A vault on a database, with its key file elsewhere."""

    def __init__(self, store: SqliteStore, keys: KeyProvider) -> None:
        self.store = store
        self.keys = keys
        self.vault = Vault(store, keys, FakeClock())

    @classmethod
    async def at(cls, folder: Path) -> Opened:
        keys = FileKeyProvider(folder / "keys" / "k")
        store = await open_sqlite(folder / "data" / "v.db", seal=sealer(keys))
        return cls(store, keys)


async def test_no_value_or_key_lies_in_the_database(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    opened = await Opened.at(tmp_path)
    keys = [opened.keys.master_key()]
    await opened.vault.set("key", FIRST, description="no value", actor="me")
    await opened.vault.get("key", actor="me")
    await opened.vault.rotate("key", SECOND, actor="me")
    for _ in range(2):
        await opened.vault.rotate_key(actor="me")
        keys.append(opened.keys.master_key())
    await opened.vault.delete("key", actor="me")
    await opened.vault.set("key", FIRST, placement="query", actor="me")
    values = (FIRST.encode(), SECOND.encode(), *(key.reveal() for key in keys))
    assert len(set(values)) == 5
    assert_clean(files(tmp_path / "data"), *values)  # open: the write-ahead log is there
    assert "v.db-wal" in files(tmp_path / "data")
    rows = await opened.store.audit_page(AuditQuery())
    records = await opened.store.list_secrets()
    shown = f"{rows} {records} {[row.to_json() for row in rows]} {opened.vault!r} {opened.keys!r}"
    await opened.store.close()
    assert_clean(files(tmp_path / "data"), *values)
    assert_clean({"shown": shown.encode(), "log": caplog.text.encode()}, *values)


async def test_an_old_version_leaves_nothing_that_its_key_would_open(tmp_path: Path) -> None:
    opened = await Opened.at(tmp_path)
    await opened.vault.set("key", FIRST, actor="me")
    old = await opened.store.get_secret("key")
    assert old is not None
    await opened.vault.rotate("key", SECOND, actor="me")
    await opened.store.close()
    database = files(tmp_path / "data")["v.db"]
    for part in (old.ciphertext, old.wrapped_key, old.nonce):
        assert part not in database


async def test_no_error_shows_a_value_or_a_key(tmp_path: Path) -> None:
    opened = await Opened.at(tmp_path)
    key = opened.keys.master_key()
    await opened.vault.set("key", FIRST, hosts=("a.example",), actor="me")
    record = await opened.store.get_secret("key")
    assert record is not None
    caught: list[StepbrakeError] = []
    vault = opened.vault
    for work in (
        lambda: vault.set("key", FIRST + "\n", actor="me"),
        lambda: vault.set(FIRST, FIRST, actor="me"),
        lambda: vault.rotate("key", FIRST + "\x00", actor="me"),
        lambda: vault.read("key", host="b.example", port=443),
        lambda: vault.get("none", actor="me"),
    ):
        try:
            await work()
        except (SecretUnavailable, UsageError) as error:
            caught.append(error)
    try:
        rewrap(record, key, key, "another database")
    except SecretUnavailable as error:
        caught.append(error)
    await opened.store.close()
    assert len(caught) == 6
    for found in caught:
        text = "".join(traceback.format_exception(found))
        shown = f"{text} {found!r} {found.where} {found.hint} {found.__context__!r}"
        assert_clean({found.what: shown.encode()}, FIRST.encode(), key.reveal())
