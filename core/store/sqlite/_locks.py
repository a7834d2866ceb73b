"""A lock file for each process that owns runs: who can take it knows that the owner is dead.

The kernel lets go of a ``flock`` when its holder ends, however it ends. Names are never
used twice, so a missing file means that its owner is gone.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from pathlib import Path

_NAME = re.compile(r"[0-9]+-[0-9a-f]{8}")


class OwnerLock:
    """This process's lock file, held for as long as the store is open.

    Args:
        folder: where the lock files of a database lie; made with mode 0700 if missing.

    Attributes:
        owner: the name that stands in ``RunRow.owner``: ``<pid>-<random>``.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._folder = folder
        self._path = _file(folder, self.owner)
        folder.mkdir(mode=0o700, exist_ok=True)
        _sweep(folder)
        self._fd: int | None = self._take()

    def release(self) -> None:
        """Say that this process drives nothing any more. Idempotent."""
        if self._fd is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = None

    def is_dead(self, owner: str) -> bool:
        """Return whether the process of that name has ended. Death is final."""
        # A name that is none of ours comes from a damaged row: nobody holds it.
        return _NAME.fullmatch(owner) is None or _remove_if_dead(_file(self._folder, owner))

    def _take(self) -> int:
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # A sweep may have removed the file between the two calls.
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)


def locks_folder(database: Path) -> Path:
    """Return where the lock files of a database lie."""
    return database.with_name(f"{database.name}.owners")


def live_pids(folder: Path) -> list[int]:
    """Return the processes that have the database of these lock files open, by number."""
    living = [path.name for path in folder.glob("*.lock") if not _remove_if_dead(path)]
    return sorted({int(name.partition("-")[0]) for name in living if _NAME.match(name)})


def _file(folder: Path, owner: str) -> Path:
    return folder / f"{owner}.lock"


def _remove_if_dead(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        # Shared: others who ask at the same moment must not take us for the owner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _sweep(folder: Path) -> None:
    """Remove what killed processes left behind."""
    for path in folder.glob("*.lock"):
        _remove_if_dead(path)
