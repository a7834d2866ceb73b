"""The audit log in SQLite."""

from __future__ import annotations

from collections.abc import Callable

from core.errors import AuditUnavailable, StoreUnavailable
from core.model.audit import AuditEntry, AuditRow
from core.model.words import AuditAction
from core.store.protocol import AuditQuery
from core.store.sqlite import _audit, _intents
from core.store.sqlite._base import Base


class SqliteAudit(Base):
    """An ``AuditStore``."""

    @property
    def audit_available(self) -> bool:
        """Return False while the store is known to be down."""
        return self._lock is not None and self._writer.available

    async def append_audit(self, entry: AuditEntry) -> AuditRow:
        """Seal and store a row, durably. The same ``call_id`` again returns the first row."""
        sealing = self._sealing
        return await self._write(
            lambda transaction: _audit.append(transaction, sealing, entry),
            durable=True,
            error=AuditUnavailable,
        )

    async def begin_call(self, entry: AuditEntry) -> None:
        """Write, durably, that a call is about to be handed over: its intent."""
        owner = self.owner
        await self._write(
            lambda transaction: _intents.begin(transaction, entry, owner),
            durable=True,
            error=AuditUnavailable,
        )

    async def close_interrupted(self, at_us: int) -> list[AuditRow]:
        """Append the row of each call whose process died after its intent."""
        lock, sealing = self._held_lock(), self._sealing
        try:
            others = await self._read(_intents.SELECT_OTHER_OWNERS, (lock.owner,))
        except StoreUnavailable as error:
            raise AuditUnavailable(error.what, where=error.where, hint=error.hint) from None
        # A look at a lock file takes microseconds, and only while others have calls under way.
        dead = [owner for (owner,) in others if lock.is_dead(owner)]
        if not dead:
            return []
        return await self._write(
            lambda transaction: _intents.close(transaction, sealing, dead, at_us),
            durable=True,
            error=AuditUnavailable,
        )

    def watch_audit(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on the loop after this process, or perhaps another, added rows."""
        forget = self._audit_watchers.add(callback)
        unwatch = self._watch.add(callback, lambda: False)

        def remove() -> None:
            forget()
            unwatch()

        return remove

    async def audit_page(
        self, query: AuditQuery, *, before: int | None = None, skip: int = 0, limit: int = 100
    ) -> list[AuditRow]:
        """Return rows newest first, with a seq below ``before``, after skipping ``skip``."""
        rows = await self._read(*_audit.page(query, before=before, skip=skip, limit=limit))
        return [_audit.from_row(row) for row in rows]

    async def audit_counts(self) -> dict[AuditAction, int]:
        """Return how many rows each action has; actions without rows are left out."""
        rows = await self._read(_audit.SELECT_COUNTS)
        return {_audit.action_of(action): count for action, count in rows}

    async def audit_count(self, query: AuditQuery) -> int:
        """Return how many rows a query has."""
        ((rows,),) = await self._read(*_audit.count(query))
        return int(rows)
