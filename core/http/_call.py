"""One call's state: how it waits, what it receives, how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from core.clock import Clock
from core.http._addresses import AddressPolicy
from core.http._body import BodyBuffer
from core.http._bounds import Bounds, Phase, Watchdog
from core.http._context import CallContext
from core.http._entries import entry_of, record_of
from core.http._messages import Request
from core.http._oauth import TokenSource
from core.http._oauth_answer import TokenAnswer
from core.http._outcomes import Ending
from core.http._ports import CancellationSignal, Resolver, SecretReader
from core.http._rows import Row, RowKeeper, outlast
from core.http._seam import Fault, Transfer, Transport
from core.http._url import Url
from core.ids import Ids
from core.vault import Credential

T = TypeVar("T")

# Ends of a token request in which nothing was done: the row of the call that waited says so.
_WAITING_CALLS = (
    Ending.CANCELLED_BEFORE_SEND,
    Ending.SECRET_UNAVAILABLE,
    Ending.AUDIT_UNAVAILABLE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """What a client and its clones share."""

    transport: Transport
    abortable: bool
    resolver: Resolver
    policy: AddressPolicy
    secrets: SecretReader | None
    clock: Clock
    ids: Ids
    rows: RowKeeper
    tokens: TokenSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a client and its clones differ in.

    Attributes:
        answer: reads the answer, if this is a request for a token.
    """

    credential: Credential | None
    allow: tuple[str, ...]
    context: CallContext
    bounds: Bounds
    run_id_to: str | None = None
    answer: TokenAnswer | None = None


class Call:
    """A call's state, and the sink its transfer reports to.

    ``settle`` is the single place where a call ends: it is synchronous, the first
    to call it wins, and it aborts the transfer; the row begins right after.

    Attributes:
        call_id: the key of the audit row.
        status: the status of the final head, 0 until it is there.
        headers: the final head's.
        url: what the request's URL was parsed to, None until it was.
        secret_read: whether the vault has been asked.
        transfer: the transfer under way, or None.
        inner: the call that this one waits for before it is sent, or None.
    """

    __slots__ = (
        "_body", "_ended_us", "_ending", "_loop", "_number", "_row", "_signal", "_unsubscribe",
        "_waiter", "call_id", "handed_over", "headers", "inner", "plan", "request",
        "secret_read", "status", "transfer", "url", "watchdog", "wiring",
    )  # fmt: skip

    def __init__(
        self,
        wiring: Wiring,
        plan: Plan,
        request: Request,
        signal: CancellationSignal | None,
        *,
        streaming: bool,
    ) -> None:
        self.wiring = wiring
        self.plan = plan
        self.request = request
        self.url: Url | None = None
        self.secret_read = False
        self.handed_over = False
        self.transfer: Transfer | None = None
        self.inner: Call | None = None
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.call_id = wiring.ids.call()
        self._signal = signal
        self._loop = asyncio.get_running_loop()
        self._unsubscribe: Callable[[], None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ending: Ending | None = None
        self._number = 0
        self._ended_us = 0
        self._row: Row | None = None
        limit = None if streaming else plan.bounds.body_bytes
        self._body = BodyBuffer(limit=limit, pauses=streaming)
        self.watchdog = Watchdog(wiring.clock, plan.bounds, self.settle)
        if plan.answer is None:
            plan.context.begin(self.call_id)

    def take(self, transfer: Transfer) -> None:
        """The transfer has begun; if the call ended meanwhile, so does the transfer."""
        if self._ending is None:
            self.transfer = transfer
        else:
            transfer.abort()

    # ---- what the transfer reports (Sink)

    def connected(self) -> None:
        """The request goes out next."""
        if self._ending is None:
            self.watchdog.enter(Phase.FIRST_BYTE)

    def head(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        """The final head is there."""
        if self._ending is None:
            self.status = status
            self.headers = headers
            self.watchdog.enter(Phase.BODY)
            self._wake()

    def data(self, chunk: bytes) -> bool:
        """Take a piece of the body; False asks for a pause."""
        if self._ending is not None:
            return True
        self.watchdog.touch()
        self._body.push(chunk)
        if self._body.overflowed:
            self.settle(Ending.RESPONSE_TOO_LARGE)
        elif self._body.paused:
            self.watchdog.hold()
        self._wake()
        return not self._body.paused

    def end(self, fault: Fault | None, number: int) -> None:
        """The transfer is over."""
        self.transfer = None
        if fault is Fault.CLOSED:
            self.stop()
            return
        if fault is None and not self.status:
            fault = Fault.PROTOCOL
        self.settle(self._whole() if fault is None else Ending.of_fault(fault), number)

    # ---- what the caller waits for

    async def answered(self) -> None:
        """Wait for the answer's final head.

        Raises:
            HttpError: the call ended before it.
        """
        while not self.status:
            if self._ending is not None:
                raise self._error()
            await self._event()

    async def read(self) -> bytes:
        """Return the next bytes of the body, empty at its end.

        Raises:
            HttpError: the body ended before it was whole; raised after what had arrived.
        """
        while True:
            chunk = self._body.pop()
            if chunk:
                if self._body.may_resume() and self.transfer is not None:
                    self.watchdog.release()
                    self.transfer.resume()
                return chunk
            if self._ending is not None:
                break
            await self._event()
        if self._ending is not Ending.COMPLETED:
            raise self._error()
        return b""

    async def read_all(self) -> bytes:
        """Return the whole body.

        Raises:
            HttpError: there is no whole body.
        """
        while self._ending is None:
            await self._event()
        if self._ending is not Ending.COMPLETED:
            raise self._error()
        return self._body.drain()

    async def fence(self) -> None:
        """Go no further if nothing more may start: another round trip would.

        Raises:
            RequestCancelled: that is so.
        """
        may_go_on = self.plan.context.may_go_on
        if may_go_on is not None and not await may_go_on():
            self.stop()
        self.checkpoint()

    async def unless_settled(self, work: Awaitable[T]) -> T:
        """Wait for ``work``, but no longer than the call lives.

        Raises:
            HttpError: the call ended meanwhile; ``work`` has been cancelled.
            Exception: what ``work`` raised.
        """
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._work_done)
        try:
            while not task.done() and self._ending is None:
                await self._event()
        finally:
            if not task.done():
                task.cancel()
                await outlast(task)
        if self._ending is not None:
            raise self._error()
        return task.result()

    # ---- how it ends

    def listen(self) -> None:
        """Have the signal end this call; one that is up does so now."""
        if self._signal is not None:
            self._unsubscribe = self._signal.subscribe(self._on_signal)

    def checkpoint(self) -> None:
        """Go no further if the call has ended or its signal is up.

        Raises:
            HttpError: that is so.
        """
        # A signal raised on another thread shows here before its callback has come over.
        if self._signal is not None and self._signal.is_set():
            self.stop()
        if self._ending is not None:
            raise self._error()

    def stop(self) -> None:
        """End it because somebody asked for that."""
        if not self.handed_over:
            read = self.secret_read
            self.settle(Ending.CANCELLED_AFTER_READ if read else Ending.CANCELLED_BEFORE_SEND)
        elif self.plan.credential is None:
            self.settle(Ending.CANCELLED_NO_CREDENTIAL)
        else:
            self.settle(Ending.CANCELLED_IN_FLIGHT)

    def follow(self, ending: Ending) -> None:
        """End it as the call that waits for it ended."""
        if ending.unasked:
            self.settle(ending)
        else:
            self.stop()

    def close(self) -> None:
        """End it, if it has not ended, because nobody reads on; leave the signal."""
        carried = self.plan.credential is not None
        self.settle(Ending.CLOSED_IN_FLIGHT if carried else Ending.CLOSED_NO_CREDENTIAL)
        unsubscribe, self._unsubscribe = self._unsubscribe, None
        if unsubscribe is not None:
            unsubscribe()

    def settle(self, ending: Ending, number: int = 0) -> None:
        """End it as ``ending``, unless it has ended."""
        if self._ending is not None:
            return
        self._ending = ending
        self._number = number
        transfer, self.transfer = self.transfer, None
        inner, self.inner = self.inner, None
        try:
            self.watchdog.stop()
            if inner is not None:
                inner.follow(ending)
            if transfer is not None:
                transfer.abort()
        finally:
            self._record(ending)
            self._wake()

    async def recorded(self) -> None:
        """Wait until the row is durable, or kept because the log is down."""
        self._begin_row()
        if self._row is not None:
            await self._row.written()

    def _on_signal(self) -> None:
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if here:
            self._on_signal_here()
            return
        with suppress(RuntimeError):  # the loop is closed: the call is gone
            self._loop.call_soon_threadsafe(self._on_signal_here)

    def _on_signal_here(self) -> None:
        if not self.handed_over or self.wiring.abortable:
            self.stop()

    def _record(self, ending: Ending) -> None:
        context = self.plan.context
        if self.plan.answer is not None:
            if ending in _WAITING_CALLS:
                return
            context.begin(self.call_id)
        context.end(record_of(self, ending))
        self._ended_us = self.wiring.clock.now_us()
        # Not here: one signal may end a thousand calls, and the last one waits for the first.
        self._loop.call_soon(self._begin_row)

    def _begin_row(self) -> None:
        if self._ended_us and self._row is None:
            self._row = Row(self.wiring.rows, entry_of(self, self._ending, self._ended_us))

    def _whole(self) -> Ending:
        if self.plan.answer is None:
            return Ending.COMPLETED
        return self.plan.answer.judge(self.status, self._body.drain())

    def _error(self) -> Exception:
        ending = self._ending or Ending.UNEXPECTED_ERROR
        return ending.error(number=self._number)

    # ---- waking

    async def _event(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("a call has one reader at a time")
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _work_done(self, task: asyncio.Future[Any]) -> None:
        if not task.cancelled():
            task.exception()  # seen here too, in case the call ended meanwhile
        self._wake()
