"""Writing a call's one row, whatever happens to the task that made the call."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from core.clock import Clock
from core.errors import AuditUnavailable
from core.http._ports import AuditSink
from core.model import AuditEntry

_log = logging.getLogger("core.http")
_RETRY_S = 1.0
# What an outage refuses is refused before it is sent, so only a caller that never gives up
# comes this far.
_MOST_LATE = 10_000


async def outlast(task: asyncio.Task[Any]) -> None:
    """Wait until ``task`` is done, also through cancellations of the waiter.

    Raises:
        CancelledError: the waiter was cancelled meanwhile; raised once ``task`` is done.
    """
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


class RowKeeper:
    """Writes the rows of a client and its clones, each until the log has it.

    A row that the log does not take is kept here and offered again. The intent that went
    before it stays in the log meanwhile: a process that dies with rows in hand is known
    by what it had begun.

    Args:
        audit: where rows go.
        clock: for the waits between tries.
    """

    def __init__(self, audit: AuditSink, clock: Clock) -> None:
        self.audit = audit
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._late: list[AuditEntry] = []
        self._retry: asyncio.Task[None] | None = None

    async def write(self, entry: AuditEntry) -> None:
        """Write a row that is not a call's own; it lands whatever becomes of the caller."""
        await Row(self, entry).written()

    def hold(self, task: asyncio.Task[None]) -> None:
        """Have ``drain`` wait for ``task``, which writes what must land."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def miss(self, entry: AuditEntry) -> None:
        """Take a row that the log did not take, to offer it again."""
        _log.error("The audit row of call %s waits: the log takes no rows", entry.call_id)
        if len(self._late) >= _MOST_LATE:
            _log.error("The audit row of call %s is lost: too many wait", entry.call_id)
            return
        self._late.append(entry)
        if self._retry is None or self._retry.done():
            self._retry = asyncio.get_running_loop().create_task(self._try_again())

    async def drain(self) -> None:
        """Wait for every write that is under way, and offer late rows once more."""
        await asyncio.sleep(0)  # Calls that have just ended begin their rows in this turn.
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        if self._retry is not None:
            self._retry.cancel()
            await asyncio.wait({self._retry})
        await self._offer()
        if self._late:
            _log.error("%d calls end without their audit row", len(self._late))

    async def _try_again(self) -> None:
        while self._late:
            await self._clock.sleep(_RETRY_S)
            await self._offer()

    async def _offer(self) -> None:
        while self._late:
            try:
                await self.audit.append(self._late[0])
            except AuditUnavailable:
                return
            del self._late[0]


class Row:
    """One append under way in a task of its own.

    Args:
        keeper: holds it.
        entry: what is written.
    """

    __slots__ = ("_begun", "_entry", "_keeper", "_task")

    def __init__(self, keeper: RowKeeper, entry: AuditEntry) -> None:
        self._keeper = keeper
        self._entry = entry
        self._begun = False
        self._task = self._start()

    async def written(self) -> None:
        """Wait until the row is durable, or kept because the log is down.

        Raises:
            CancelledError: the waiter was cancelled; the row has landed or is kept.
        """
        cancelled: asyncio.CancelledError | None = None
        while True:
            task = self._task
            try:
                await outlast(task)
            except asyncio.CancelledError as error:
                cancelled = error
            if not self._renewed(task):
                break
        if cancelled is not None:
            raise cancelled

    def _start(self) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._append())
        self._keeper.hold(task)
        task.add_done_callback(self._renewed)
        return task

    async def _append(self) -> None:
        self._begun = True
        try:
            await self._keeper.audit.append(self._entry)
        except AuditUnavailable:
            self._keeper.miss(self._entry)
        except Exception as error:
            call_id = self._entry.call_id
            _log.error("The audit row of call %s: %s", call_id, type(error).__name__)

    def _renewed(self, task: asyncio.Task[None]) -> bool:
        """Begin again what a loop that shuts down cancelled before its first step."""
        if task.cancelled() and not self._begun and task is self._task:
            self._task = self._start()
        return task is not self._task
