"""The part of a store that the vault needs."""

from __future__ import annotations

from typing import Protocol

from core.model.audit import AuditEntry, AuditRow
from core.model.secrets import ChainKeyRecord, SecretRecord
from core.store.protocol import AuditQuery, KeyRotation


class SecretRows(Protocol):
    """Encrypted secrets, and the log beside them; a whole ``Store`` is one."""

    @property
    def database_id(self) -> str:
        """Return the id that the database got when it was made."""

    async def put_secret(self, record: SecretRecord, entry: AuditEntry) -> bool:
        """Insert a secret, or replace its version before, with its audit row.

        False (and no row) if another version is there.
        """

    async def get_secret(self, name: str) -> SecretRecord | None:
        """Return one secret, None if there is none."""

    async def list_secrets(self) -> list[SecretRecord]:
        """Return all secrets by name."""

    async def delete_secret(self, name: str, entry: AuditEntry) -> bool:
        """Delete a secret, with its audit row; False (and no row) if there is none."""

    async def chain_keys(self) -> list[ChainKeyRecord]:
        """Return the retired keys of the log's chain."""

    async def rotate_key(self, rotation: KeyRotation) -> bool:
        """Put everything under another master key; False if it is not what it was."""

    async def append_audit(self, entry: AuditEntry) -> AuditRow:
        """Seal and store a row, durably."""

    async def audit_page(
        self, query: AuditQuery, *, before: int | None = None, skip: int = 0, limit: int = 100
    ) -> list[AuditRow]:
        """Return rows newest first."""
