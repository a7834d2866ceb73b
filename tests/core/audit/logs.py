"""Logs to tamper with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from core.audit import AuditLog, open_chain
from core.keys import MasterKey
from core.model.audit import AuditEntry
from core.model.words import AuditAction
from core.store import open_sqlite
from core.store.sqlite._driver import Connection, connect

KEY = MasterKey(b"k" * 32)
ROWS = 12


def entry(number: int = 1, **fields: object) -> AuditEntry:
    values: dict[str, object] = {
        "at_us": 1_900_000_000_000_000 + number,
        "action": AuditAction.HTTP_CALL,
        "success": True,
        "status": 200,
        "method": "GET",
        "host": f"host{number}.example",
        "path": "/v1",
        "credential": "demo",
        "run_id": "run",
        "step": f"m{number}",
        "call_id": f"call-{number}",
        "actor": "tester",
        "message": None,
    }
    return AuditEntry(**(values | fields))  # type: ignore[arg-type]


async def write_log(path: Path, rows: int, *, key: MasterKey = KEY) -> Path:
    """Make a database at ``path`` whose log has ``rows`` rows."""
    store = await open_sqlite(
        path, seal=lambda database_id, _: open_chain(key, database_id).seal, synchronous="normal"
    )
    try:
        log = AuditLog(store)
        for number in range(1, rows + 1):
            await log.append(entry(number))
    finally:
        await store.close()
    return path


def copy_log(source: Path, target: Path) -> Path:
    """Copy a closed database."""
    for suffix in ("", "-wal"):
        if Path(f"{source}{suffix}").exists():
            shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")
    return target


@contextmanager
def tampering(path: Path) -> Iterator[Connection]:
    """Open the database as somebody who cares for neither triggers nor constraints."""
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'audit'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
