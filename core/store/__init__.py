"""Where runs, events, audit rows and secrets are kept.

The protocols are cheap to import; the SQLite store is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy
from core.store._place import database_file
from core.store.protocol import (
    AuditQuery,
    AuditStore,
    CancelFacts,
    Claim,
    Commit,
    Committed,
    KeyRotation,
    RunStore,
    Seal,
    Sealer,
    SecretStore,
    Store,
    Verdict,
)

if TYPE_CHECKING:
    from core.store.sqlite import AuditScan, SqliteStore, open_audit_scan, open_sqlite

_SQLITE = ("AuditScan", "SqliteStore", "open_audit_scan", "open_sqlite")

__all__ = [
    "AuditQuery",
    "AuditScan",
    "AuditStore",
    "CancelFacts",
    "Claim",
    "Commit",
    "Committed",
    "KeyRotation",
    "RunStore",
    "Seal",
    "Sealer",
    "SecretStore",
    "SqliteStore",
    "Store",
    "Verdict",
    "database_file",
    "open_audit_scan",
    "open_sqlite",
]

__getattr__ = lazy(__name__, dict.fromkeys(_SQLITE, "core.store.sqlite"))
