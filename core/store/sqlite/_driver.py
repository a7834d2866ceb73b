"""The one module that imports a SQLite driver, so that a process has one SQLite library.

A second library on the same file, or a plain ``open`` of it, silently drops the file's
POSIX locks: another process may then remove the live write-ahead log, and writes are
acknowledged that nobody can see.

SQLite 3.7.0 to 3.51.2 can corrupt a database when several connections write and
checkpoint (the WAL-reset bug); fixed in 3.51.3, 3.50.7 and 3.44.6. The ``pysqlite3``
wheel brings a fixed one; without it the interpreter's own is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3 as module

    import aiosqlite
else:
    try:
        from pysqlite3 import dbapi2 as module
    except ImportError:
        import sqlite3 as module

Connection = module.Connection
Error = module.Error
IntegrityError = module.IntegrityError

_READ_PRAGMAS = (
    "PRAGMA query_only = ON",
    "PRAGMA busy_timeout = 2000",
    "PRAGMA mmap_size = 0",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)


def is_fixed(version: Sequence[int]) -> bool:
    """Return whether a SQLite of this version is free of the WAL-reset bug."""
    release = tuple(version[:3])
    return (
        release >= (3, 51, 3) or (3, 50, 7) <= release < (3, 51) or (3, 44, 6) <= release < (3, 45)
    )


def driver_note() -> str:
    """Return one line for people: which SQLite this is, and whether it is a fixed one."""
    line = f"SQLite {module.sqlite_version} ({module.__name__.partition('.')[0]})"
    if driver_fixed():
        return line
    return f"{line}: has the WAL-reset bug; writes of all processes pass one gate"


def driver_fixed() -> bool:
    """Return whether the SQLite in use is free of the WAL-reset bug."""
    return is_fixed(module.sqlite_version_info)


def connect(path: Path, *, options: str = "mode=rw", timeout: float = 0.0) -> Connection:
    """Open a connection without implicit transactions, usable from any one thread at a time.

    Args:
        path: the database file.
        options: SQLite's URI options, e.g. ``mode=ro``.
        timeout: seconds that SQLite itself waits for a lock.
    """
    return module.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        isolation_level=None,
        timeout=timeout,
        check_same_thread=False,
    )


def rollback(connection: Connection) -> None:
    """Undo the open transaction; some errors have undone it already."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def data_version(connection: Connection) -> int:
    """Return a number that changes when another connection has committed."""
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)


def error_code(error: BaseException) -> tuple[int, str]:
    """Return SQLite's primary result code and the name of its extended one."""
    code = getattr(error, "sqlite_errorcode", None)
    if not isinstance(code, int):
        return 1, type(error).__name__
    return code & 0xFF, str(getattr(error, "sqlite_errorname", code))


class Reader:
    """A connection that only reads, on a thread that never keeps the interpreter alive.

    Every read is one statement whose rows are all fetched at once: a cursor left open
    across an await would pin the write-ahead log.
    """

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a query that has a LIMIT."""
        return list(await self._connection.execute_fetchall(sql, parameters))

    async def close(self) -> None:
        """Close the connection and end its thread. Idempotent."""
        with suppress(ValueError):  # closed before
            await self._connection.close()


async def open_reader(path: Path, *, options: str) -> Reader:
    """Open a connection for reading through aiosqlite, with SQLite's URI options."""
    import aiosqlite

    def open_connection() -> Connection:
        connection = connect(path, options=options)
        for pragma in _READ_PRAGMAS:
            connection.execute(pragma)
        return connection

    connection = aiosqlite.Connection(open_connection, 64)
    # aiosqlite's thread is no daemon; an unhandled error would hang the interpreter's exit.
    connection._thread.daemon = True
    return Reader(await connection)
