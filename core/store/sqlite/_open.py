"""Opening a database: what is there, what must be made, and what may not be touched."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from core.errors import StoreError
from core.store.sqlite._driver import Connection, Error, connect, rollback
from core.store.sqlite._errors import (
    GuardBroken,
    foreign,
    is_contention,
    nameless,
    unavailable,
    unusable,
)
from core.store.sqlite._gate import Gate
from core.store.sqlite._locks import OwnerLock, locks_folder
from core.store.sqlite._network import notices
from core.store.sqlite._schema import VERSION, database_id, is_foreign, migrate, version_of
from core.store.sqlite._upgrade import in_use, prepare

_PATIENCE = 1.0
_BUSY_MS = 750
_OPEN_WITHIN = 10.0

_PRAGMAS = (
    f"PRAGMA busy_timeout = {_BUSY_MS}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA mmap_size = 0",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA secure_delete = FAST",
    "PRAGMA fullfsync = ON",
    "PRAGMA wal_autocheckpoint = 1000",
    "PRAGMA journal_size_limit = 67108864",
)

T = TypeVar("T")


class FileGuard:
    """Notices that the database or its write-ahead log is no longer the file it was.

    SQLite itself goes on writing to a file that was removed, and calls that a success.
    """

    def __init__(self, path: Path) -> None:
        self._paths = (str(path), f"{path}-wal")
        self._identities = tuple(map(_identity, self._paths))

    def check(self) -> None:
        """Raise GuardBroken if one of the files was removed or replaced."""
        for path, identity in zip(self._paths, self._identities, strict=True):
            if _identity(path) != identity:
                raise GuardBroken


@dataclass(frozen=True, slots=True)
class Writable:
    """What writing needs.

    Attributes:
        connection: the only one that writes.
        lock: says that this process lives.
    """

    connection: Connection
    gate: Gate
    lock: OwnerLock
    guard: FileGuard

    def close(self) -> None:
        """Let go of everything."""
        self.connection.close()
        self.lock.release()
        self.gate.close()


@dataclass(frozen=True, slots=True)
class Opened:
    """An open database.

    Attributes:
        database_id: the id that it got when it was made.
        watcher: a connection that only looks for changes.
        writable: None for a database of a later version.
        notices: what a person should know about its place, a sentence each.
    """

    database_id: str
    watcher: Connection
    writable: Writable | None
    notices: tuple[str, ...]


def open_database(path: Path) -> Opened:
    """Open a database; make it, or bring it to this version, if need be.

    Nothing is created or changed beside or in a file that is no database of ours.

    Raises:
        StoreError: it cannot be made, read or written, or it is something else.
        StoreUnavailable: others are using it in a way that only lets us wait.
    """
    writable: Writable | None = None
    try:
        version = _version(path) if path.exists() else 0
        if version <= VERSION:
            writable = _open_writable(path, version)
        watcher = connect(path, options="mode=ro")
        found = database_id(watcher)
        if found is None:
            watcher.close()
            raise nameless(path)
        return Opened(found, watcher, writable, notices(path))
    except BaseException as error:
        if writable is not None:
            writable.close()
        if is_contention(error):
            raise unavailable(error, path, None) from None
        if isinstance(error, (Error, OSError)):
            raise unusable(error, path) from None
        raise


def check_file(path: Path) -> None:
    """Raise StoreError if what is there can be no database: a folder, a device, a pipe."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "no regular file"
        raise StoreError(
            f"The database is {kind}",
            where=str(path),
            hint="Name a file, with --db or PLAYGROUND_DB.",
        )


def _version(path: Path) -> int:
    check_file(path)
    connection = connect(path, timeout=_BUSY_MS / 1000)
    try:
        version = _patiently(lambda: version_of(connection))
        others = _patiently(lambda: is_foreign(connection))
    finally:
        connection.close()
    if others:
        raise foreign(path)
    return version


def _open_writable(path: Path, version: int) -> Writable | None:
    _make_folder(path.parent)
    gate = Gate(path.with_name(f"{path.name}.gate"), patience=_PATIENCE)
    try:
        entered = gate.enter()
        deadline = time.monotonic() + _OPEN_WITHIN
        while not entered and 0 < version < VERSION and time.monotonic() < deadline:
            # Somebody else may be migrating it. Nobody does so without the gate.
            entered = gate.enter()
        try:
            writable = _open_behind(gate, path, entered=entered)
        except Error as error:
            if is_contention(error):
                raise unavailable(error, path, None if entered else gate.holder()) from None
            raise
        finally:
            if entered:
                gate.leave()
    except BaseException:
        gate.close()
        raise
    if writable is None:
        gate.close()
    return writable


def _open_behind(gate: Gate, path: Path, *, entered: bool) -> Writable | None:
    # A new database gets the gate's mode, 0600, and its sidecars get the database's.
    template = quote(str(path.absolute().with_name(f"{path.name}.gate")))
    connection = connect(path, options=f"mode=rwc&modeof={template}", timeout=_BUSY_MS / 1000)
    try:
        _patiently(lambda: [connection.execute(pragma) for pragma in _PRAGMAS])
        # The switch to WAL is refused at once while another process is switching.
        (mode,) = _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
        if mode != "wal":
            raise StoreError(
                "The place of the database does not support a write-ahead log",
                where=str(path),
                hint="Choose a local disk, with --db or PLAYGROUND_DB.",
            )
        version = _patiently(lambda: version_of(connection))
        if version > VERSION:  # a later program was faster
            connection.close()
            return None
        if version < VERSION:
            if version > 0:
                if not entered:
                    raise in_use(path, [pid for pid in [gate.holder()] if pid is not None])
                prepare(connection, path, version)
            _patiently(lambda: migrate(connection))
        _try_to_write(connection)
        lock = OwnerLock(locks_folder(path))
        return Writable(connection, gate, lock, FileGuard(path))
    except BaseException:
        connection.close()
        raise


def _try_to_write(connection: Connection) -> None:
    # BEGIN IMMEDIATE succeeds on a file that may not be written; only a write tells.
    try:
        connection.execute("BEGIN IMMEDIATE")
    except Error as error:
        if is_contention(error):
            # Somebody else is writing, or is frozen in it. Reads go on; our first write tells.
            return
        raise
    try:
        connection.execute("UPDATE meta SET value = value")
    finally:
        rollback(connection)


def _patiently(action: Callable[[], T]) -> T:
    """Repeat what another process's first open may disturb."""
    deadline = time.monotonic() + _OPEN_WITHIN
    while True:
        try:
            return action()
        except Error as error:
            if not is_contention(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
