"""Writing to the log."""

from __future__ import annotations

from typing import Protocol

from core.audit._encoding import normalised
from core.errors import AuditUnavailable
from core.model.audit import AuditEntry, AuditRow


class AuditRows(Protocol):
    """The part of a store that the log needs."""

    @property
    def audit_available(self) -> bool:
        """Return False while the store is known to be down."""

    async def append_audit(self, entry: AuditEntry) -> AuditRow:
        """Seal and store a row, durably."""


class AuditLog:
    """The audit log as its writers see it.

    Args:
        store: where rows go; it seals them inside its own transaction.
    """

    def __init__(self, store: AuditRows) -> None:
        self._store = store

    def check(self) -> None:
        """Return if rows can be written as far as is known; costs no I/O.

        Raises:
            AuditUnavailable: the store is known to be down: nothing may be sent.
        """
        if not self._store.audit_available:
            raise AuditUnavailable("The audit log cannot be written now", where="store")

    async def append(self, entry: AuditEntry) -> None:
        """Write one row; it is durable on return.

        Raises:
            TypeError: the action is no ``AuditAction``, or a field has a wrong type;
                nothing was written.
            ValueError: a number is out of range; nothing was written.
            AuditUnavailable: the row could not be written.
        """
        await self._store.append_audit(normalised(entry))
