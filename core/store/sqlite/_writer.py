"""The writer: one thread, one connection, and as many callers to a commit as are waiting.

Callers wait for futures. Cancelling a caller does not cancel its write: what was handed
in is written, in order, in a transaction that no caller can cut.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from core.errors import AuditUnavailable, StoreUnavailable
from core.store.sqlite._driver import Error
from core.store.sqlite._errors import is_outage, refused, unavailable
from core.store.sqlite._open import Opened, open_database
from core.store.sqlite._transact import News, Synchronous, Transaction, Transactor

_BATCH = 512
_ROOM = 4096
_PROBE_EVERY = 1.0
_PATIENCE = 2.0

T = TypeVar("T")


@dataclass(slots=True)
class Outage:
    """The store does not take writes.

    Attributes:
        cause: what the first refused writer was told.
        probe_at: monotonic seconds of the next try.
    """

    cause: StoreUnavailable
    probe_at: float

    def error(self, kind: type[StoreUnavailable]) -> StoreUnavailable:
        """Return a fresh exception for one more caller."""
        return kind(self.cause.what, where=self.cause.where, hint=self.cause.hint)


@dataclass(slots=True, eq=False)
class _Job:
    operation: Callable[[Transaction], Any]
    durable: bool
    error: type[StoreUnavailable]
    future: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class _Failed:
    error: BaseException


_LOOK = object()


class Writer:
    """Takes operations on the loop, commits them in groups on its thread.

    Args:
        path: the database.
        synchronous: ``auto`` makes a group FULL if one of its operations is durable.
        publish: called on the loop with each group's news, before its callers go on.
        changed: called on the loop when another process has committed.
        recover: tried each second during an outage, as the proof that it is over.
    """

    def __init__(
        self,
        path: Path,
        *,
        synchronous: Synchronous,
        publish: Callable[[News], None],
        changed: Callable[[], None],
        recover: Callable[[Transaction], None],
    ) -> None:
        self._path = path
        self._synchronous = synchronous
        self._publish = publish
        self._changed = changed
        self._recover = recover
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(_ROOM)
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._waiting: dict[_Job, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._stuck = False
        self._outage: Outage | None = None
        self._closing = False
        self._transactor: Transactor
        self._thread = threading.Thread(target=self._main, name="store-writer", daemon=True)

    @property
    def available(self) -> bool:
        """Return False while the store is known not to take writes."""
        return self._outage is None and not self._stuck and not self._closing

    @property
    def tick(self) -> int:
        """Return a number that changes with each commit of ours, odd while one is under way."""
        return self._transactor.tick

    async def open(self) -> Opened:
        """Open the database on the thread, which ends if nothing may be written."""
        ready: asyncio.Future[Opened] = self._loop.create_future()
        self._queue.put(ready)
        self._thread.start()
        try:
            return await ready
        except BaseException:
            self._queue.put(_nothing)  # whoever opens is gone: close it again
            raise

    async def run(
        self,
        operation: Callable[[Transaction], T],
        *,
        durable: bool,
        error: type[StoreUnavailable] = StoreUnavailable,
    ) -> T:
        """Hand in an operation and wait until it is committed.

        Args:
            operation: may run twice, each time in a fresh transaction.
            durable: whether it must survive a power cut.
            error: what is raised when the store is down; an ``AuditUnavailable`` comes
                within 2 s even if the disk hangs.
        """
        await self._room.acquire()
        future: asyncio.Future[T] = self._loop.create_future()
        try:
            self._check(error)
        except BaseException:
            self._room.release()
            raise
        job = _Job(operation, durable, error, future)
        if error is AuditUnavailable:
            self._waiting[job] = time.monotonic() + _PATIENCE
            if self._timer is None:
                self._timer = self._loop.call_later(_PATIENCE / 4, self._look_for_stuck)
        self._queue.put(job)
        return await future

    def watch(self, watched: bool) -> None:
        """Say whether commits of other processes are of interest."""
        self._transactor.watched = watched

    def look(self) -> None:
        """Find out, on the thread, whether another process has committed."""
        self._queue.put(_LOOK)

    async def close(self) -> None:
        """Write what was handed in, then end the thread; it is left behind after 2 s."""
        self._closing = True
        # Maybe not the loop that the store was opened on.
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._queue.put(lambda: loop.call_soon_threadsafe(done.set))
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _PATIENCE)
            # Else whoever still waits for a row hears of it in time.
            if self._timer is not None:
                self._timer.cancel()

    def _check(self, error: type[StoreUnavailable]) -> None:
        if self._closing:
            raise error("The store is closed", where=str(self._path))
        if self._outage is not None:
            raise self._outage.error(error)

    def _look_for_stuck(self) -> None:
        now = time.monotonic()
        for job, deadline in list(self._waiting.items()):
            if deadline > now:
                break
            del self._waiting[job]
            self._stuck = True
            if not job.future.done():
                job.future.set_exception(
                    AuditUnavailable(
                        "The disk does not answer",
                        where=str(self._path),
                        hint="The row may still be written; the same call changes nothing twice.",
                    )
                )
        again = bool(self._waiting)
        self._timer = self._loop.call_later(_PATIENCE / 4, self._look_for_stuck) if again else None

    # Everything below runs on the thread, but for _deliver.

    def _main(self) -> None:
        ready = self._queue.get()
        try:
            opened = open_database(self._path)
        except BaseException as error:
            self._post(_settle, ready, _Failed(error))
            return
        if opened.writable is not None:
            self._transactor = Transactor(opened.writable, self._synchronous)
        self._post(_settle, ready, opened)
        if opened.writable is not None:
            self._serve()

    def _serve(self) -> None:
        while True:
            jobs, look, stop = self._collect()
            if jobs:
                self._post(self._deliver, jobs, *self._write(jobs))
            if self._outage is not None and time.monotonic() >= self._outage.probe_at:
                self._probe(self._outage)
            if look:
                with suppress(Error):
                    self._transactor.look()
            if self._transactor.changed:
                self._transactor.changed = False
                self._post(self._changed)
            if stop is not None:
                with suppress(Error, OSError):
                    self._transactor.close()
                with suppress(RuntimeError):
                    stop()
                return

    def _collect(self) -> tuple[list[_Job], bool, Callable[[], None] | None]:
        """Return all jobs that wait, whether to look for changes, and how to stop if so."""
        jobs: list[_Job] = []
        look = False
        try:
            item = self._queue.get(timeout=None if self._outage is None else _PROBE_EVERY)
            while True:
                if isinstance(item, _Job):
                    jobs.append(item)
                elif item is _LOOK:
                    look = True
                else:
                    return jobs, look, item
                if len(jobs) == _BATCH:
                    break
                item = self._queue.get_nowait()
        except Empty:
            pass
        return jobs, look, None

    def _write(self, jobs: list[_Job]) -> tuple[list[Any], News]:
        if self._outage is not None:
            return _refuse(jobs, self._outage), News()
        try:
            return self._transactor.run(
                [job.operation for job in jobs], durable=any(job.durable for job in jobs)
            )
        except BaseException as error:
            if is_outage(error):
                self._outage = Outage(self._cause(error), time.monotonic() + _PROBE_EVERY)
                return _refuse(jobs, self._outage), News()
            if len(jobs) == 1:
                return [_Failed(refused(error, self._path))], News()
        # One of them is poison: each on its own.
        results: list[Any] = []
        news = News()
        for job in jobs:
            values, later = self._write([job])
            results += values
            news.add(later)
        return results, news

    def _probe(self, outage: Outage) -> None:
        try:
            self._transactor.check()
            _, news = self._transactor.run([self._recover], durable=True)
        except BaseException as error:
            if is_outage(error):
                outage.cause = self._cause(error)
            outage.probe_at = time.monotonic() + _PROBE_EVERY
        else:
            self._outage = None
            self._post(self._publish, news)

    def _cause(self, error: BaseException) -> StoreUnavailable:
        return unavailable(error, self._path, self._transactor.held_by)

    def _post(self, call: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(call, *arguments)

    def _deliver(self, jobs: list[_Job], results: list[Any], news: News) -> None:
        self._stuck = False
        self._publish(news)
        for job, result in zip(jobs, results, strict=True):
            self._waiting.pop(job, None)
            self._room.release()
            _settle(job.future, result)


def _nothing() -> None:
    """Stop without telling anybody."""


def _refuse(jobs: list[_Job], outage: Outage) -> list[_Failed]:
    return [_Failed(outage.error(job.error)) for job in jobs]


def _settle(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():  # its caller was cancelled
        return
    if isinstance(result, _Failed):
        future.set_exception(result.error)
    else:
        future.set_result(result)
