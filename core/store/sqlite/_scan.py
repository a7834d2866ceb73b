"""The audit log as it lies in the file, row by row, for whoever verifies it."""

# ruff: noqa: S608 - statements are put together from our own constants; values are bound

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import StoreError
from core.model.secrets import ChainKeyRecord
from core.store._place import database_file
from core.store.sqlite._audit import COLUMNS
from core.store.sqlite._driver import Connection, Error, connect
from core.store.sqlite._errors import foreign, nameless, unusable
from core.store.sqlite._open import check_file
from core.store.sqlite._schema import database_id, is_foreign, version_of
from core.store.sqlite._secrets import SELECT_CHAIN_KEYS, chain_key_from_row

_HAS_CHAIN_KEYS = "SELECT 1 FROM sqlite_schema WHERE name = 'chain_key'"
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM audit"


@dataclass(frozen=True, slots=True)
class AuditScan:
    """A consistent view of the audit log, also while others write.

    Attributes:
        database_id: the id that stands in the database.
        chain_keys: the retired keys of the chain, as they are stored; none in a database of
            a version that knew of none.
        rows: the rows by seq: the fields of ``AuditRow.to_json`` in their order, then
            ``key_id`` and ``mac``. They come as they are stored: nothing is checked, so a
            value of an altered table may be of any SQLite type, and text that is no UTF-8
            holds lone surrogates. Memory does not grow with their number.
    """

    database_id: str
    chain_keys: tuple[ChainKeyRecord, ...]
    rows: Iterator[tuple[Any, ...]]


@contextmanager
def open_audit_scan(path: str | Path) -> Iterator[AuditScan]:
    """Open a database's audit log for reading from front to back.

    Blocking; the rows must be read inside the block.

    Raises:
        StoreError: there is no such file, or no audit log in it.
    """
    file = database_file(path)
    if not file.exists():
        raise StoreError("There is no database", where=str(file), hint="Check the path.")
    check_file(file)
    try:
        with closing(_connect(file)) as connection:
            connection.execute("BEGIN")
            if is_foreign(connection):
                raise foreign(file)
            if version_of(connection) == 0:
                raise StoreError(
                    "The database is empty",
                    where=str(file),
                    hint="Check the path; the first run fills it.",
                )
            found = database_id(connection)
            if found is None:
                raise nameless(file)
            yield AuditScan(found, _chain_keys(connection), _rows(connection))
    except Error as error:
        raise unusable(error, file) from None


def _connect(file: Path) -> Connection:
    connection = connect(file, options="mode=ro", timeout=2.0)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    except Error:
        connection.close()
        if Path(f"{file}-wal").exists():
            raise
        # A copy on a medium where SQLite can make no sidecars, so that nobody writes to it.
        return connect(file, options="mode=ro&immutable=1")
    return connection


def _chain_keys(connection: Connection) -> tuple[ChainKeyRecord, ...]:
    if connection.execute(_HAS_CHAIN_KEYS).fetchone() is None:
        return ()
    return tuple(map(chain_key_from_row, connection.execute(SELECT_CHAIN_KEYS)))


def _rows(connection: Connection) -> Iterator[tuple[Any, ...]]:
    seen: Any = None
    try:
        for row in connection.execute(f"{_SELECT} ORDER BY seq"):
            yield row
            seen = row[0]
    except Error:
        # Text that is no UTF-8. Decoding all of it ourselves would be slower throughout.
        connection.text_factory = _decode
        where, parameters = ("", ()) if seen is None else (" WHERE seq > ?", (seen,))
        yield from connection.execute(f"{_SELECT}{where} ORDER BY seq", parameters)


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
