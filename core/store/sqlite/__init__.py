"""The SQLite store: one file, any number of processes, durable when acknowledged."""

from core.store.sqlite._driver import driver_fixed, driver_note
from core.store.sqlite._scan import AuditScan, open_audit_scan
from core.store.sqlite._store import SqliteStore, open_sqlite

__all__ = [
    "AuditScan",
    "SqliteStore",
    "driver_fixed",
    "driver_note",
    "open_audit_scan",
    "open_sqlite",
]
