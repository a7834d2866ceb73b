"""SQLite's errors as ours: what went wrong, where, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from core.errors import StepbrakeError, StoreError, StoreUnavailable
from core.store.sqlite._driver import Error, IntegrityError, error_code

_PERM, _BUSY, _LOCKED, _NOMEM, _READONLY, _IOERR, _CORRUPT = 3, 5, 6, 7, 8, 10, 11
_FULL, _CANTOPEN, _PROTOCOL, _NOTADB = 13, 14, 15, 26

_OUTAGES = {
    _PERM: ("The database may not be written", "Check the permissions of the file."),
    _BUSY: ("Another process holds the database's write lock", "Try again."),
    _LOCKED: ("Another connection holds the database's lock", "Try again."),
    _NOMEM: ("There is no memory left for the database", "Free some memory."),
    _READONLY: ("The database may not be written", "Check the permissions of the file."),
    _IOERR: ("The disk refused to read or write the database", "Check the disk and its quota."),
    _CORRUPT: ("The database is damaged", "Keep a copy of it and start with a new one."),
    _FULL: ("The disk is full", "Free some space; writing goes on by itself."),
    _CANTOPEN: (
        "The database cannot be opened",
        "Check that it and its folder are there and may be written.",
    ),
    _PROTOCOL: ("The database's lock could not be had", "Try again."),
    _NOTADB: ("The file is no database", "Choose another file."),
}


class GuardBroken(Exception):
    """The database file or its write-ahead log is no longer the one that was opened."""


def is_outage(error: BaseException) -> bool:
    """Return whether it is the place that fails, not the one operation."""
    if isinstance(error, (GuardBroken, OSError)):
        return True
    return isinstance(error, Error) and error_code(error)[0] in _OUTAGES


def is_contention(error: BaseException) -> bool:
    """Return whether somebody else holds the lock."""
    return isinstance(error, Error) and error_code(error)[0] in (_BUSY, _LOCKED, _PROTOCOL)


def unavailable(error: BaseException, path: Path, holder: int | None) -> StoreUnavailable:
    """Return what a writer is told during an outage.

    Args:
        error: what SQLite or the system said.
        path: the database.
        holder: the process that holds the write gate, if that is the reason.
    """
    if isinstance(error, GuardBroken):
        return StoreUnavailable(
            "The database was moved, removed or replaced while it was open",
            where=str(path),
            hint="Put it back or start again; nothing more is written to the old one.",
        )
    if isinstance(error, OSError):
        return StoreUnavailable(
            f"The database's files cannot be used: {error.strerror or 'system error'}",
            where=str(path),
            hint="Check that the folder is there and may be written.",
        )
    if is_contention(error) and holder is not None:
        return StoreUnavailable(
            f"Process {holder} holds the database's write lock and does not let go",
            where=str(path),
            hint=f"It is stopped or stuck: wake it (kill -CONT {holder}) or end it.",
        )
    code, name = error_code(error)
    what, hint = _OUTAGES.get(code, ("The database failed", "Try again."))
    return StoreUnavailable(f"{what} ({name})", where=str(path), hint=hint)


def unusable(error: BaseException, path: Path) -> StoreError:
    """Return why a database cannot be opened at all."""
    if isinstance(error, OSError):
        return StoreError(
            f"The database cannot be used: {error.strerror or 'system error'}",
            where=str(path),
            hint="Choose a place that you may write, with --db or PLAYGROUND_DB.",
        )
    code, name = error_code(error)
    what, hint = _OUTAGES.get(code, ("The database cannot be used", "Choose another file."))
    return StoreError(f"{what} ({name})", where=str(path), hint=hint)


def foreign(path: Path) -> StoreError:
    """Return why a database that another program made is left alone."""
    return StoreError(
        "The file is another program's database",
        where=str(path),
        hint="Choose another file, with --db or PLAYGROUND_DB.",
    )


def nameless(path: Path) -> StoreError:
    """Return why a database without its id is not used: its audit log cannot be proved."""
    return StoreError(
        "The database has lost its id",
        where=str(path),
        hint="Somebody altered it: keep a copy of it and start with a new one.",
    )


def refused(error: BaseException, path: Path) -> BaseException:
    """Return what one operation's caller is told when only that operation failed."""
    if isinstance(error, StepbrakeError) or not isinstance(error, (Error, UnicodeError)):
        return error
    if isinstance(error, IntegrityError):
        what = f"The database refused a wrong state ({error_code(error)[1]})"
    else:
        what = f"The database refused the operation ({error_code(error)[1]})"
    return StoreError(what, where=str(path), hint="This is a defect: please report it.")
