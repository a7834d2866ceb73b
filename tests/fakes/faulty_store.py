"""A real store whose writes fail, hang or lose their answers as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, TypeVar

from core.errors import AuditUnavailable, StoreUnavailable
from core.model import AuditEntry, AuditRow, CancelLevel, CancelReceipt
from core.store import Commit, Committed, SqliteStore

T = TypeVar("T")


class Fault(Enum):
    """When a write fails."""

    BEFORE = "nothing was stored"
    AFTER = "everything was stored, and the answer was lost"


class Gate:
    """A point that operations pass unless it is shut.

    Attributes:
        waiting: how many operations stand before it.
    """

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self.waiting = 0

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    async def passed(self) -> None:
        self.waiting += 1
        await self._open.wait()
        self.waiting -= 1


class FaultyStore:
    """Stands before a SQLite store, as the store of one runtime.

    Attributes:
        inner: the real store.
        down: while True every write of a run is refused.
        audit_down: while True every audit row and intent is refused.
        fault_of: the fault of a commit by its number, counted without repeats.
        handed_in: gate that ``commit`` and ``cancel`` pass before they are stored.
        answered: gate that they pass after.
        commits: every commit that was tried, repeats too.
        answers_lost: how often ``Fault.AFTER`` has struck.
    """

    def __init__(self, inner: SqliteStore) -> None:
        self.inner = inner
        self.down = False
        self.audit_down = False
        self.fault_of: dict[int, Fault] = {}
        self.handed_in = Gate()
        self.answered = Gate()
        self.commits: list[Commit] = []
        self.answers_lost = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def mend(self) -> None:
        """End every fault."""
        self.down = self.audit_down = False
        self.fault_of.clear()
        self.handed_in.open()
        self.answered.open()

    @property
    def audit_available(self) -> bool:
        return not self.audit_down and self.inner.audit_available

    async def commit(self, commit: Commit) -> Committed:
        self.commits.append(commit)
        fault = None
        if commit.replay_from is None:
            fault = self.fault_of.get(sum(tried.replay_from is None for tried in self.commits) - 1)
        return await self._through(lambda: self.inner.commit(commit), fault)

    async def cancel(
        self, run_id: str, *, level: CancelLevel, by: str, reason: str, at_us: int
    ) -> CancelReceipt:
        return await self._through(
            lambda: self.inner.cancel(run_id, level=level, by=by, reason=reason, at_us=at_us)
        )

    async def append_audit(self, entry: AuditEntry) -> AuditRow:
        if self.audit_down:
            raise AuditUnavailable("The disk is full")
        return await self.inner.append_audit(entry)

    async def begin_call(self, entry: AuditEntry) -> None:
        if self.audit_down:
            raise AuditUnavailable("The disk is full")
        await self.inner.begin_call(entry)

    async def close_interrupted(self, at_us: int) -> list[AuditRow]:
        if self.audit_down:
            raise AuditUnavailable("The disk is full")
        return await self.inner.close_interrupted(at_us)

    async def _through(self, write: Callable[[], Awaitable[T]], fault: Fault | None = None) -> T:
        await self.handed_in.passed()
        if self.down or fault is Fault.BEFORE:
            raise StoreUnavailable("The disk is full")
        result = await write()
        if fault is Fault.AFTER:
            self.answers_lost += 1
            raise StoreUnavailable("The answer was lost")
        await self.answered.passed()
        return result
