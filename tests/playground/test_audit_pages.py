from __future__ import annotations

import random

import pytest

from core import AuditQuery
from core.model import AuditAction, AuditRow
from playground.state.audit_pages import KEPT_PAGES, PAGE_ROWS, AuditPages, PageRequest
from tests.playground.audit_log import FakeAuditLog, entry

A = AuditAction


class Reader:
    """Fills pages from a log the way the pane does, and counts the rows it read."""

    def __init__(self, log: FakeAuditLog, actions: tuple[AuditAction, ...] = ()) -> None:
        self.query = AuditQuery(actions=actions)
        self.log_ = log
        self.pages = AuditPages(dense=not actions)
        self.read = 0

    async def grow(self) -> int:
        newest = await self.log_.page(self.query, limit=1)
        head = newest[0].seq if newest else 0
        total = head if self.pages.dense else await self.log_.count(self.query)
        return self.pages.grow(total, head)

    async def load(self, request: PageRequest) -> None:
        rows = await self.log_.page(
            self.query, before=request.before, skip=request.skip, limit=request.limit
        )
        self.read += request.skip + len(rows)
        self.pages.fill(request, rows)

    async def view(self, first: int, last: int) -> list[AuditRow | None]:
        for request in list(self.pages.wanted(first, last)):
            await self.load(request)
        return [self.pages.row(index) for index in range(first, last + 1)]

    @property
    def expected(self) -> list[AuditRow]:
        actions = self.query.actions
        return [row for row in reversed(self.log_.rows) if not actions or row.action in actions]


def log_of(count: int, *, every: int = 3) -> FakeAuditLog:
    return FakeAuditLog(
        entry(number, A.HTTP_CALL_CANCELLED if number % every == 0 else A.HTTP_CALL)
        for number in range(count)
    )


@pytest.mark.parametrize("actions", [(), (A.HTTP_CALL_CANCELLED,)])
async def test_every_view_of_a_growing_log_shows_what_the_log_has(
    actions: tuple[AuditAction, ...],
) -> None:
    chance = random.Random(4)
    log = log_of(1_234)
    reader = Reader(log, actions)
    for _ in range(60):
        await reader.grow()
        first = chance.randrange(len(reader.pages))
        last = min(first + chance.randrange(1, 60), len(reader.pages)) - 1
        assert await reader.view(first, last) == reader.expected[first : last + 1]
        log.append(
            *(entry(n, chance.choice([A.HTTP_CALL, *actions])) for n in range(chance.randrange(40)))
        )


async def test_rows_that_were_appended_during_a_load_do_not_shift_it() -> None:
    log = log_of(500, every=1)
    reader = Reader(log, (A.HTTP_CALL_CANCELLED,))
    await reader.grow()
    [request] = reader.pages.wanted(0, 10)
    log.append(*(entry(n, A.HTTP_CALL_CANCELLED) for n in range(30)))
    await reader.load(request)
    assert reader.pages.row(0) == log.rows[499]
    assert await reader.grow() == 30
    assert reader.pages.row(30) == log.rows[499]
    assert await reader.view(0, 40) == log.rows[::-1][:41]


@pytest.mark.parametrize("actions", [(), (A.HTTP_CALL_CANCELLED,)])
async def test_a_jump_to_the_end_loads_the_page_in_view_and_no_other(
    actions: tuple[AuditAction, ...],
) -> None:
    log = log_of(30_000)
    reader = Reader(log, actions)
    await reader.grow()
    total = len(reader.pages)
    requests = list(reader.pages.wanted(total - 30, total - 1))
    assert len(requests) == 1
    assert requests[0].limit <= PAGE_ROWS
    assert (await reader.view(total - 30, total - 1))[-1] == reader.expected[-1]
    if not actions:
        assert reader.read <= PAGE_ROWS


async def test_going_on_from_a_loaded_page_skips_nothing() -> None:
    log = log_of(9_000)
    reader = Reader(log, (A.HTTP_CALL_CANCELLED,))
    await reader.grow()
    await reader.view(2_500, 2_520)
    requests = list(reader.pages.wanted(2_560, 2_620))
    assert requests
    assert {request.skip for request in requests} == {0}


async def test_a_loaded_view_wants_nothing_until_the_log_grows() -> None:
    log = log_of(150)
    reader = Reader(log)
    await reader.grow()
    await reader.view(0, 149)
    assert not list(reader.pages.wanted(0, 149))
    log.append(entry(150))
    await reader.grow()
    [request] = reader.pages.wanted(0, 149)
    assert request.page == 1


async def test_memory_is_bounded_however_far_one_scrolls() -> None:
    log = log_of(PAGE_ROWS * (KEPT_PAGES + 20))
    reader = Reader(log)
    await reader.grow()
    for first in range(0, len(reader.pages), PAGE_ROWS):
        await reader.view(first, first + 30)
    kept = sum(reader.pages.row(index) is not None for index in range(len(reader.pages)))
    assert kept <= KEPT_PAGES * PAGE_ROWS


async def test_a_seq_that_the_log_has_lost_is_missing_and_not_asked_for_again() -> None:
    log = log_of(120)
    del log.rows[49]
    reader = Reader(log)
    await reader.grow()
    view = await reader.view(0, 119)
    assert view[70] is None
    assert reader.pages.loaded(70)
    assert [row.seq for row in view if row] == [row.seq for row in reversed(log.rows)]
    assert not list(reader.pages.wanted(0, 119))


async def test_a_log_that_became_shorter_is_read_anew() -> None:
    log = log_of(120)
    reader = Reader(log)
    await reader.grow()
    await reader.view(0, 119)
    del log.rows[60:]
    assert await reader.grow() == -60
    assert await reader.view(0, 59) == log.rows[::-1]


def test_an_empty_log_wants_nothing() -> None:
    pages = AuditPages(dense=True)
    assert pages.grow(0, 0) == 0
    assert not list(pages.wanted(0, 30))
    assert pages.row(0) is None
