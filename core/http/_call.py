"""One call's state: how it waits, what it receives, how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from core.clock import Clock
from core.http._addresses import AddressPolicy
from core.http._body import BodyBuffer
from core.http._bounds import Bounds, Phase, Watchdog
from core.http._context import CallContext, CallRecord
from core.http._gates import known_method
from core.http._messages import Request
from core.http._outcomes import Ending, UnrecordedCall
from core.http._ports import AuditSink, CancellationSignal, Resolver, SecretReader
from core.http._rows import Row, RowKeeper, outlast
from core.http._seam import Fault, Transfer, Transport
from core.http._url import Url
from core.ids import Ids
from core.model import AuditEntry
from core.vault import Credential

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """What a client and its clones share."""

    transport: Transport
    resolver: Resolver
    policy: AddressPolicy
    audit: AuditSink
    secrets: SecretReader | None
    clock: Clock
    ids: Ids
    rows: RowKeeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a client and its clones differ in."""

    credential: Credential | None
    allow: tuple[str, ...]
    context: CallContext
    bounds: Bounds
    run_id_to: str | None = None


class Call:
    """A call's state, and the sink its transfer reports to.

    ``settle`` is the single place where a call ends: it is synchronous, the first
    to call it wins, and it aborts the transfer and begins the row.

    Attributes:
        call_id: the key of the audit row.
        status: the status of the final head, 0 until it is there.
        headers: the final head's.
        url: what the request's URL was parsed to, None until it was.
        secret_read: whether the vault has been asked.
        transfer: the transfer under way, or None.
    """

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
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.call_id = wiring.ids.call()
        self._signal = signal
        self._loop = asyncio.get_running_loop()
        self._unsubscribe: Callable[[], None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ending: Ending | None = None
        self._number = 0
        self._row: Row | None = None
        limit = None if streaming else plan.bounds.body_bytes
        self._body = BodyBuffer(limit=limit, pauses=streaming)
        self.watchdog = Watchdog(wiring.clock, plan.bounds, self.settle)
        plan.context.begin(self.call_id)

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
        self.settle(Ending.COMPLETED if fault is None else Ending.of_fault(fault), number)

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

    async def unless_settled(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for ``work``, but no longer than the call lives.

        Raises:
            HttpError: the call ended meanwhile; ``work`` has been cancelled.
            Exception: what ``work`` raised.
        """
        task = self._loop.create_task(work)
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
        try:
            self.watchdog.stop()
            if transfer is not None:
                transfer.abort()
        finally:
            self._record(ending)
            self._wake()

    async def recorded(self, error: BaseException | None) -> None:
        """Wait for the row.

        Args:
            error: what the call is about to raise, or None.

        Raises:
            UnrecordedCall: the row could not be written.
        """
        if self._row is None:
            return
        try:
            await self._row.written()
        except Exception:
            # A stop of the whole task stays what it is; the row's loss has been logged.
            if error is None or isinstance(error, Exception):
                raise UnrecordedCall(self.call_id) from error

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
        if not self.handed_over or self.wiring.transport.supports_abort:
            self.stop()

    def _record(self, ending: Ending) -> None:
        context, url = self.plan.context, self.url
        credential = None if self.plan.credential is None else self.plan.credential.name
        context.end(CallRecord(self.call_id, ending.action, credential, ending.exposed))
        entry = AuditEntry(
            at_us=self.wiring.clock.now_us(),
            action=ending.action,
            success=ending.success,
            status=self.status,
            method=known_method(self.request),
            host=None if url is None else url.host,
            path=None if url is None else url.path,
            credential=credential,
            run_id=context.run_id,
            step=context.step,
            call_id=self.call_id,
            actor=context.actor,
            message=ending.message,
        )
        self._row = Row(self.wiring.rows, self.wiring.audit, entry)

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

    def _work_done(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled():
            task.exception()  # seen here too, in case the call ended meanwhile
        self._wake()
