"""Writing a call's one row, whatever happens to the task that made the call."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from core.http._ports import AuditSink
from core.model import AuditEntry

_log = logging.getLogger("core.http")


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


class Row:
    """One append under way in a task of its own."""

    __slots__ = ("_audit", "_begun", "_entry", "_keeper", "_task")

    def __init__(self, keeper: RowKeeper, audit: AuditSink, entry: AuditEntry) -> None:
        self._keeper = keeper
        self._audit = audit
        self._entry = entry
        self._begun = False
        self._task = self._start()

    async def written(self) -> None:
        """Wait until the row is durable.

        Raises:
            Exception: what the sink raised.
            CancelledError: the waiter was cancelled; the row has landed or failed.
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
        if not task.cancelled():
            task.result()

    def _start(self) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._append())
        self._keeper.tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def _append(self) -> None:
        self._begun = True
        await self._audit.append(self._entry)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._keeper.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("The audit row of call %s was not written", self._entry.call_id)
        self._renewed(task)

    def _renewed(self, task: asyncio.Task[None]) -> bool:
        """Begin again what a loop that shuts down cancelled before its first step."""
        if task.cancelled() and not self._begun and task is self._task:
            self._task = self._start()
        return task is not self._task


class RowKeeper:
    """Holds the appends of a client and its clones until they are done."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()

    async def drain(self) -> None:
        """Wait for every append that is under way."""
        while self.tasks:
            await asyncio.wait(set(self.tasks))
