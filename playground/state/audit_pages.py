"""Which rows of a growing log are in memory.

The log only ever grows, so a row's *ordinal*, its position from the oldest, never changes.
Rows are kept in pages by ordinal: a new row touches one page, never the others, and the
memory is bounded however long the log is. The screen counts from the newest (*index*).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.model import AuditRow

PAGE_ROWS = 100
"""Rows of one page."""

KEPT_PAGES = 40
"""Pages in memory at most; the least recently shown goes first."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What to ask the log for.

    Attributes:
        page: which page it fills.
        before: a seq; only older rows.
        skip: rows to pass over after that.
        limit: rows to return at most.
        total: how many rows there were when it was asked for.
    """

    page: int
    before: int
    skip: int
    limit: int
    total: int


@dataclass(slots=True)
class _Page:
    rows: dict[int, AuditRow]
    total: int = 0


class AuditPages:
    """Pages of one query.

    Args:
        dense: every row of the log is in the query, so that an ordinal is ``seq - 1`` and
            any page is one index lookup. A seq without a row is then a missing row.
    """

    def __init__(self, *, dense: bool) -> None:
        self.dense = dense
        self.total = 0
        self.head = 0
        self._pages: OrderedDict[int, _Page] = OrderedDict()

    def __len__(self) -> int:
        return self.total

    def grow(self, total: int, head: int) -> int:
        """Take the log's present length and newest seq; return how many rows are new.

        A log that became shorter was replaced or tampered with: everything is forgotten.
        """
        added = total - self.total
        if added < 0:
            self._pages.clear()
        self.total, self.head = total, head
        return added

    def row(self, index: int) -> AuditRow | None:
        """Return a row counted from the newest, None if it is not in memory."""
        ordinal = self.total - 1 - index
        page = self._pages.get(_page(ordinal))
        return None if page is None else page.rows.get(ordinal)

    def loaded(self, index: int) -> bool:
        """Return whether the row was asked for; one that is not there then is missing."""
        page, size = self._page_of(index)
        held = self._pages.get(page)
        return held is not None and self._complete(held, page, size)

    def index_of(self, seq: int) -> int | None:
        """Return where a seq is; None where only reading the log could tell."""
        return self.total - seq if self.dense and 0 < seq <= self.total else None

    def wanted(self, first: int, last: int) -> Iterator[PageRequest]:
        """Yield what must be loaded to show the rows from ``first`` to ``last``."""
        if not self.total or last < first:
            return
        newest, _ = self._page_of(max(0, first))
        oldest, _ = self._page_of(min(last, self.total - 1))
        for page in range(newest, oldest - 1, -1):
            size = self._size(page)
            held = self._pages.get(page)
            if held is None or not self._complete(held, page, size):
                yield self._request(page, size)
            else:
                self._pages.move_to_end(page)

    def place(self, newest: Sequence[AuditRow | None]) -> None:
        """Keep the newest rows of the log, as they are at its present length."""
        for place, row in enumerate(newest):
            if row is None:
                continue
            ordinal = row.seq - 1 if self.dense else self.total - 1 - place
            self._pages.setdefault(_page(ordinal), _Page({})).rows[ordinal] = row
        self._trim()

    def fill(self, request: PageRequest, rows: Sequence[AuditRow | None]) -> None:
        """Keep the rows that a request brought, newest first; None is a row nobody can read."""
        top = request.page * PAGE_ROWS + request.limit - 1
        placed = {
            row.seq - 1 if self.dense else top - place: row
            for place, row in enumerate(rows)
            if row is not None
        }
        held = self._pages.setdefault(request.page, _Page({}))
        held.rows.update(
            (ordinal, row) for ordinal, row in placed.items() if _page(ordinal) == request.page
        )
        held.total = max(held.total, request.total)
        self._pages.move_to_end(request.page)
        self._trim()

    def _trim(self) -> None:
        while len(self._pages) > KEPT_PAGES:
            self._pages.popitem(last=False)

    def _page_of(self, index: int) -> tuple[int, int]:
        page = _page(self.total - 1 - index)
        return page, self._size(page)

    def _size(self, page: int) -> int:
        return min(PAGE_ROWS, self.total - page * PAGE_ROWS)

    def _complete(self, held: _Page, page: int, size: int) -> bool:
        """Return whether the page is whole, or was asked for when it was as long as now."""
        return len(held.rows) >= size or held.total - page * PAGE_ROWS >= size

    def _request(self, page: int, size: int) -> PageRequest:
        low = page * PAGE_ROWS
        high = low + size
        if self.dense:
            return PageRequest(page, high + 1, 0, size, self.total)
        before, skip = self.head + 1, self.total - high
        for other in self._pages.values():
            oldest = min(other.rows, default=None)
            if oldest is not None and 0 <= oldest - high < skip:
                before, skip = other.rows[oldest].seq, oldest - high
        return PageRequest(page, before, skip, size, self.total)


def _page(ordinal: int) -> int:
    return ordinal // PAGE_ROWS
