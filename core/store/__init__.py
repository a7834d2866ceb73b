"""Where runs, events, audit rows and secrets are kept.

The protocols are cheap to import; the SQLite store is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.store.protocol import (
    AuditQuery,
    AuditStore,
    CancelFacts,
    Claim,
    Commit,
    Committed,
    RunStore,
    Seal,
    SecretStore,
    Store,
    Verdict,
)

if TYPE_CHECKING:
    from core.store.sqlite import AuditScan, SqliteStore, open_audit_scan, open_sqlite

_SQLITE = frozenset({"AuditScan", "SqliteStore", "open_audit_scan", "open_sqlite"})

__all__ = [
    "AuditQuery",
    "AuditScan",
    "AuditStore",
    "CancelFacts",
    "Claim",
    "Commit",
    "Committed",
    "RunStore",
    "Seal",
    "SecretStore",
    "SqliteStore",
    "Store",
    "Verdict",
    "open_audit_scan",
    "open_sqlite",
]


def __getattr__(name: str) -> Any:
    if name in _SQLITE:
        from core.store import sqlite

        return getattr(sqlite, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
