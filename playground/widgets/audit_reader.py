"""Reads the log for the audit pane: its length, its counts, and the rows in view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from core import AuditQuery
from core.errors import StoreError
from core.model import AuditAction, AuditRow
from playground.state.audit_pages import PAGE_ROWS, AuditPages, PageRequest
from playground.state.audit_source import AuditSource

_TRIES = 3
_UNREADABLE = (StoreError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Growth:
    """What reading the log's top found.

    Attributes:
        added: how many rows are new in the query; negative if the log was replaced.
        counts: rows of each action.
    """

    added: int
    counts: Mapping[AuditAction, int]


class AuditReader:
    """One query's pages and how they are filled.

    Attributes:
        pages: the rows in memory.
        actions: which actions are shown; none means all.
    """

    def __init__(self, source: AuditSource, actions: tuple[AuditAction, ...] = ()) -> None:
        self._source = source
        self._query = AuditQuery(actions=actions)
        self.actions = actions
        self.pages = AuditPages(dense=not actions)

    async def grow(self) -> Growth:
        """Read how long the log is now, and its newest rows.

        The newest rows are in memory when the new length is known: none flickers.
        """
        rows = await self._rows(limit=PAGE_ROWS)
        head = _head(rows)
        total: int | None = head if self.pages.dense else await self._count(head)
        counts = await self._source.counts()
        if total is None:
            return Growth(0, counts)
        added = self.pages.grow(total, head)
        if added:
            self.pages.place(rows)
        return Growth(added, counts)

    async def load(self, request: PageRequest) -> None:
        """Bring one page into memory."""
        rows = await self._rows(before=request.before, skip=request.skip, limit=request.limit)
        self.pages.fill(request, rows)

    async def _count(self, head: int) -> int | None:
        """Count the rows up to ``head``; None if the log grows too fast to tell now."""
        for _ in range(_TRIES):
            total = await self._source.count(self._query)
            if _head(await self._rows(limit=1)) == head:
                return total
        return None

    async def _rows(
        self, *, before: int | None = None, skip: int = 0, limit: int
    ) -> list[AuditRow | None]:
        """Read rows; one that somebody has made unreadable is None, the others are shown."""
        page = self._source.page
        try:
            found = await page(self._query, before=before, skip=skip, limit=limit)
        except _UNREADABLE:
            rows = [await self._row(before, skip + place) for place in range(limit)]
            if not any(rows):
                raise
            return rows
        return [row if _sound(row) else None for row in found]

    async def _row(self, before: int | None, skip: int) -> AuditRow | None:
        with suppress(*_UNREADABLE):
            for row in await self._source.page(self._query, before=before, skip=skip, limit=1):
                return row if _sound(row) else None
        return None


def _head(rows: Sequence[AuditRow | None]) -> int:
    return next((row.seq for row in rows if row is not None), 0)


def _sound(row: AuditRow) -> bool:
    """Return whether a row's fields have their types: a table can be edited into anything."""
    texts = [row.method, row.host, row.path, row.credential]
    texts += [row.run_id, row.step, row.call_id, row.message]
    return (
        all(text is None or isinstance(text, str) for text in texts)
        and all(isinstance(text, str) for text in (row.actor, row.key_id))
        and all(isinstance(value, int) for value in (row.seq, row.at_us, row.status))
        and isinstance(row.mac, bytes)
    )
