"""Before an older database becomes a newer one: nobody else uses it, and a copy is kept."""

from __future__ import annotations

import os
from pathlib import Path

from core.errors import StoreUnavailable
from core.store.sqlite._driver import Connection
from core.store.sqlite._locks import live_pids, locks_folder


def prepare(connection: Connection, path: Path, version: int) -> None:
    """Copy the database to ``<name>.v<version>.bak``; the caller holds the gate.

    Whoever opens it must pass the gate, so that nobody comes in between.

    Raises:
        StoreUnavailable: other processes use it.
    """
    pids = live_pids(locks_folder(path))
    if pids:
        raise in_use(path, pids)
    _back_up(connection, path.with_name(f"{path.name}.v{version}.bak"))


def in_use(path: Path, pids: list[int]) -> StoreUnavailable:
    """Return why an older database cannot be brought to this version now."""
    names = ", ".join(map(str, pids)) or "another one"
    return StoreUnavailable(
        f"The database must be brought to this version, and other processes use it: {names}",
        where=str(path),
        hint="End them, then try again.",
    )


def _back_up(connection: Connection, target: Path) -> None:
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)  # of a process that was killed
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        connection.execute("VACUUM INTO ?", (str(part),))
        _sync(part)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
