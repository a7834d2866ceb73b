"""Writing to the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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

    async def begin_call(self, entry: AuditEntry) -> None:
        """Write, durably, that a call is about to be handed over."""


class AuditLog:
    """The audit log as its writers see it.

    Args:
        store: where rows go; it seals them inside its own transaction.
        mask: takes the secrets out of what others chose the words of: host, path, actor and
            message.
    """

    def __init__(self, store: AuditRows, mask: Callable[[str], str] = str) -> None:
        self._store = store
        self._mask = mask

    def check(self) -> None:
        """Return if rows can be written as far as is known; costs no I/O.

        Raises:
            AuditUnavailable: the store is known to be down: nothing may be sent.
        """
        if not self._store.audit_available:
            raise AuditUnavailable("The audit log cannot be written now", where="store")

    async def begin(self, entry: AuditEntry) -> None:
        """Write that a call is about to be handed over; it is durable on return.

        Args:
            entry: what the call's row will say if this process dies before its end; its
                action is not looked at.

        Raises:
            TypeError: a field has a wrong type, or there is no ``call_id``; nothing was
                written.
            ValueError: a number is out of range; nothing was written.
            AuditUnavailable: it could not be written: nothing may be sent.
        """
        if entry.call_id is None:
            raise TypeError("a call that begins must have a call_id")
        await self._store.begin_call(self._masked(normalised(entry)))

    async def append(self, entry: AuditEntry) -> None:
        """Write one row; it is durable on return.

        Raises:
            TypeError: the action is no ``AuditAction``, or a field has a wrong type;
                nothing was written.
            ValueError: a number is out of range; nothing was written.
            AuditUnavailable: the row could not be written.
        """
        await self._store.append_audit(self._masked(normalised(entry)))

    def _masked(self, entry: AuditEntry) -> AuditEntry:
        mask = self._mask
        return replace(
            entry,
            host=None if entry.host is None else mask(entry.host),
            path=None if entry.path is None else mask(entry.path),
            actor=mask(entry.actor),
            message=None if entry.message is None else mask(entry.message),
        )
