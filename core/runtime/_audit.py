"""What a screen or a command may ask of the audit log, and how it hears of new rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from core.model.audit import AuditEntry, AuditRow
from core.model.events import CancelRequested, Event
from core.model.words import AuditAction
from core.store.protocol import AuditQuery, Store

if TYPE_CHECKING:
    from core.audit import AuditLog, Verification


class AuditView:
    """Reads the log; nothing here writes.

    Args:
        store: where the rows are.
        verify: verifies the whole log.
    """

    def __init__(self, store: Store, verify: Callable[[], Verification]) -> None:
        self._store = store
        self._verify = verify
        self._listeners: list[Callable[[], None]] = []

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

        def on_events(events: Sequence[Event]) -> None:
            if any(isinstance(event, CancelRequested) for event in events):
                callback()

        stop_watching = self._store.watch(callback, closely=lambda: False)
        stop_following = self._store.subscribe(on_events)
        self._listeners.append(callback)

        def unsubscribe() -> None:
            stop_watching()
            stop_following()
            self._listeners.remove(callback)

        return unsubscribe

    def touched(self) -> None:
        """Tell subscribers that this process wrote a row."""
        for listener in tuple(self._listeners):
            try:
                listener()
            except Exception as error:
                # The row is written: a listener's fault must not look like a lost row.
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "An audit listener failed", "exception": error}
                )

    def verify(self) -> Verification:
        """Verify the whole log. Blocks: call it in a thread."""
        return self._verify()


class AuditTap:
    """The log as the HTTP client writes it; tells a view of each row.

    Args:
        log: where rows go.
        view: what is told.
    """

    def __init__(self, log: AuditLog, view: AuditView) -> None:
        self._log = log
        self._view = view

    def check(self) -> None:
        """Raise ``AuditUnavailable`` if rows are known not to be writable now."""
        self._log.check()

    async def append(self, entry: AuditEntry) -> None:
        """Write one row; it is durable on return.

        Raises:
            AuditUnavailable: the row could not be written.
        """
        await self._log.append(entry)
        self._view.touched()
