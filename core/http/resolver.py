"""Name lookups on threads of our own.

A lookup cannot be interrupted. Neither libcurl's threads nor the event loop's
default executor will do: a few hung names hold up all others there, and block the
exit. These threads are daemons, many, and a hung one is simply left behind.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

_THREADS = 64
_IDLE_SECONDS = 10.0
_CACHE_SECONDS = 10.0
_CACHE_HOSTS = 256

Lookup = Callable[[str], tuple[str, ...]]
_Waiter = tuple[asyncio.AbstractEventLoop, "asyncio.Future[tuple[str, ...]]"]


def system_lookup(host: str) -> tuple[str, ...]:
    """Ask the system for the addresses of ``host``; blocks.

    Raises:
        OSError: there is none.
    """
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class ThreadResolver:
    """A ``Resolver``: lookups of the same name are shared, answers kept for seconds.

    An answer is only what the name says; whether a call may go there is asked anew
    for each call.

    Args:
        lookup: the blocking lookup.
    """

    def __init__(self, lookup: Lookup = system_lookup) -> None:
        self._lookup = lookup
        self._changed = threading.Condition()
        self._waiting: dict[str, list[_Waiter]] = {}
        self._answers: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._jobs: deque[str] = deque()
        self._threads = 0
        self._idle = 0

    async def resolve(self, host: str) -> tuple[str, ...]:
        """Return the addresses of ``host``.

        Cancelling ends the wait at once; the lookup itself runs on, for others.

        Raises:
            OSError: there is none.
        """
        loop = asyncio.get_running_loop()
        with self._changed:
            known = self._answers.get(host)
            if known is not None and time.monotonic() - known[0] < _CACHE_SECONDS:
                return known[1]
            future: asyncio.Future[tuple[str, ...]] = loop.create_future()
            waiters = self._waiting.setdefault(host, [])
            waiters.append((loop, future))
            if len(waiters) == 1:
                self._submit(host)
        return await future

    def _submit(self, host: str) -> None:
        self._jobs.append(host)
        # A thread that was notified counts as idle until it has taken its job, which
        # is then still in the queue: the comparison never sends a job to a busy one.
        if self._idle >= len(self._jobs):
            self._changed.notify()
        elif self._threads < _THREADS:
            self._threads += 1
            threading.Thread(target=self._work, name="resolver", daemon=True).start()

    def _work(self) -> None:
        while (host := self._next_job()) is not None:
            self._answer(host)

    def _next_job(self) -> str | None:
        with self._changed:
            if not self._jobs:
                self._idle += 1
                self._changed.wait_for(lambda: bool(self._jobs), timeout=_IDLE_SECONDS)
                self._idle -= 1
            if self._jobs:
                return self._jobs.popleft()
            self._threads -= 1
            return None

    def _answer(self, host: str) -> None:
        answer: tuple[str, ...] | None
        try:
            answer = self._lookup(host)
        except (OSError, UnicodeError):
            answer = None
        with self._changed:
            if answer:
                self._remember(host, answer)
            waiters = self._waiting.pop(host, [])
        for loop, future in waiters:
            with suppress(RuntimeError):  # that loop is closed
                loop.call_soon_threadsafe(_settle, future, answer)

    def _remember(self, host: str, answer: tuple[str, ...]) -> None:
        self._answers.pop(host, None)
        self._answers[host] = (time.monotonic(), answer)
        while len(self._answers) > _CACHE_HOSTS:
            del self._answers[next(iter(self._answers))]


def _settle(future: asyncio.Future[tuple[str, ...]], answer: tuple[str, ...] | None) -> None:
    if future.done():
        return
    if answer:
        future.set_result(answer)
    else:
        future.set_exception(OSError("no address"))
