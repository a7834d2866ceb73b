"""Verifying the log of a database."""

from __future__ import annotations

from pathlib import Path

from core.audit._keys import open_chain
from core.audit._rows import Prover, Verification
from core.audit._walk import walk
from core.keys import FileKeyProvider, MasterKey


def verify(path: str | Path, key: MasterKey | None = None) -> Verification:
    """Verify the whole audit log of a database. Blocks; memory is constant.

    Rows cut off the end leave no trace in the log itself.

    Args:
        path: the database.
        key: the master key; None: the one of the default key file, which must exist.

    Raises:
        StoreError: there is no such database, or it cannot be read.
        SecretUnavailable: there is no master key.
    """
    from core.store import open_audit_scan

    with open_audit_scan(path) as scan:
        master = key or FileKeyProvider().master_key()
        chain = open_chain(master, scan.database_id)
        return walk(scan.rows, Prover({chain.key_id: chain.mac}), chain.genesis)
