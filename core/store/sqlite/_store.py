"""The SQLite store: one writer, readers apart, everything durable when acknowledged."""

from __future__ import annotations

from core.store.sqlite._audit_store import SqliteAudit
from core.store.sqlite._run_store import SqliteRuns
from core.store.sqlite._secret_store import SqliteSecrets


class SqliteStore(SqliteRuns, SqliteAudit, SqliteSecrets):
    """A ``Store`` in one SQLite file. Made by ``open_sqlite``."""


open_sqlite = SqliteStore.open
