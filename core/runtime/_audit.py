"""What a screen or a command may ask of the audit log, and how it hears of new rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from core.model.audit import AuditRow
from core.model.words import AuditAction
from core.store.protocol import AuditQuery, Store

if TYPE_CHECKING:
    from core.audit import Verification


class AuditView:
    """Reads the log; nothing here writes.

    Args:
        store: where the rows are.
        verify: verifies the whole log.
    """

    def __init__(self, store: Store, verify: Callable[[], Verification]) -> None:
        self._store = store
        self._verify = verify

    @property
    def available(self) -> bool:
        """Return False while the store is known not to take rows, or anything else."""
        return self._store.audit_available

    async def page(
        self, query: AuditQuery, *, before: int | None = None, skip: int = 0, limit: int = 100
    ) -> list[AuditRow]:
        """Return rows newest first, with a seq below ``before``, after skipping ``skip``."""
        return await self._store.audit_page(query, before=before, skip=skip, limit=limit)

    async def counts(self) -> dict[AuditAction, int]:
        """Return how many rows each action has."""
        return await self._store.audit_counts()

    async def count(self, query: AuditQuery) -> int:
        """Return how many rows a query has."""
        return await self._store.audit_count(query)

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on the loop when rows may have been added; return the unsubscriber."""
        return self._store.watch_audit(callback)

    def verify(self) -> Verification:
        """Verify the whole log. Blocks: call it in a thread."""
        return self._verify()
