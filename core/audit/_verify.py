"""Verifying the log of a database."""

from __future__ import annotations

from pathlib import Path

from core.audit._encoding import genesis
from core.audit._keys import ChainKeys
from core.audit._rows import Prover, Verification
from core.audit._walk import walk
from core.errors import SecretUnavailable
from core.keys import FileKeyProvider, KeyProvider, MasterKey


def verify(path: str | Path, key: MasterKey | None = None) -> Verification:
    """Verify the whole audit log of a database. Blocks; memory is constant.

    Rows cut off the end leave no trace in the log itself.

    Args:
        path: the database.
        key: the master key; None: those of the default key file, which must exist.

    Raises:
        StoreError: there is no such database, or it cannot be read.
        SecretUnavailable: there is no master key.
    """
    return verify_log(path, FileKeyProvider() if key is None else _OneKey(key))


def verify_log(path: str | Path, keys: KeyProvider) -> Verification:
    """Verify the whole audit log of a database with the keys of a provider, as ``verify``.

    Raises:
        StoreError: there is no such database, or it cannot be read.
        SecretUnavailable: there is no master key.
    """
    from core.store import open_audit_scan

    with open_audit_scan(path) as scan:
        # Without any key every row would look as if its own had been lost.
        expected = [keys.master_key().key_id, *(record.key_id for record in scan.chain_keys)]
        chain_keys = ChainKeys(keys, scan.database_id, scan.chain_keys)
        prover = Prover(chain_keys.mac, expected)
        return walk(scan.rows, prover, genesis(scan.database_id))


class _OneKey:
    """A ``KeyProvider`` of one key."""

    def __init__(self, key: MasterKey) -> None:
        self._key = key

    def master_key(self, *, make: bool = False) -> MasterKey:
        return self._key

    def find(self, key_id: str) -> MasterKey | None:
        return self._key if key_id == self._key.key_id else None

    def renew(self, key_id: str) -> MasterKey:
        raise SecretUnavailable("This key cannot be renewed", code="secret_locked", where=key_id)
