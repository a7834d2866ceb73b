"""Secrets and retired keys in SQLite."""

from __future__ import annotations

from core.model.audit import AuditEntry
from core.model.secrets import ChainKeyRecord, SecretRecord
from core.store.protocol import KeyRotation
from core.store.sqlite import _audit, _secrets
from core.store.sqlite._base import Base
from core.store.sqlite._sealing import key_id_of
from core.store.sqlite._transact import Transaction
from core.text import storable


class SqliteSecrets(Base):
    """A ``SecretStore``."""

    async def put_secret(self, record: SecretRecord, entry: AuditEntry) -> bool:
        """Insert a secret, or replace its version before, with its audit row."""
        sealing = self._sealing

        def put(transaction: Transaction) -> bool:
            stored = _secrets.put(transaction.connection, record)
            if stored:
                _audit.append(transaction, sealing, entry)
            return stored

        return await self._write(put, durable=True)

    async def get_secret(self, name: str) -> SecretRecord | None:
        """Return one secret, None if there is none."""
        rows = await self._read(_secrets.SELECT_ONE, (storable(name),))
        return _secrets.from_row(rows[0]) if rows else None

    async def list_secrets(self) -> list[SecretRecord]:
        """Return all secrets by name."""
        return [_secrets.from_row(row) for row in await self._read(_secrets.SELECT_ALL)]

    async def delete_secret(self, name: str, entry: AuditEntry) -> bool:
        """Delete a secret, with its audit row; False (and no row) if there is none."""
        sealing = self._sealing

        def delete(transaction: Transaction) -> bool:
            found = _secrets.delete(transaction.connection, storable(name))
            if found:
                _audit.append(transaction, sealing, entry)
            return found

        return await self._write(delete, durable=True)

    async def chain_keys(self) -> list[ChainKeyRecord]:
        """Return the retired keys of the log's chain."""
        rows = await self._read(_secrets.SELECT_CHAIN_KEYS)
        return [_secrets.chain_key_from_row(row) for row in rows]

    async def rotate_key(self, rotation: KeyRotation) -> bool:
        """Put everything under another master key in one durable transaction."""
        sealing, key_id = self._sealing, key_id_of(rotation.seal)

        def rotate(transaction: Transaction) -> bool:
            done = _secrets.rewrap(transaction.connection, rotation, key_id)
            if done:
                _audit.rotate(transaction, sealing, rotation)
            return done

        return await self._write(rotate, durable=True)
