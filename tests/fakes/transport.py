"""A transport that a test plays by hand: no socket, no sleep, no turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from core.http import Belt, Fault, Pin, Sink, WireRequest

_PATIENCE_SECONDS = 5.0


class ScriptedTransfer:
    """One transfer: say what the server does, look at what the client did."""

    def __init__(self, request: WireRequest, pin: Pin, belt: Belt, sink: Sink) -> None:
        self.request = request
        self.pin = pin
        self.belt = belt
        self.aborted = False
        self.ended = False
        self.resumed = 0
        self._sink = sink

    @property
    def over(self) -> bool:
        """Whether nothing more may be said."""
        return self.aborted or self.ended

    def header(self, name: str) -> str | None:
        """Return the first value of a header that went out."""
        wanted = name.lower()
        return next((v for k, v in self.request.headers if k.lower() == wanted), None)

    def connected(self) -> None:
        self._check()
        self._sink.connected()

    def head(self, status: int, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self._check()
        self._sink.head(status, headers)

    def data(self, chunk: bytes) -> bool:
        """Deliver a piece; False means that the client asks for a pause."""
        self._check()
        return self._sink.data(chunk)

    def done(self) -> None:
        """End whole."""
        self._check()
        self.ended = True
        self._sink.end(None, 0)

    def fail(self, fault: Fault, number: int = 0) -> None:
        """End broken."""
        self._check()
        self.ended = True
        self._sink.end(fault, number)

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Give a whole answer; underscores in header names become hyphens."""
        self.connected()
        self.head(status, tuple((k.replace("_", "-"), v) for k, v in headers.items()))
        if body:
            self.data(body)
        if not self.aborted:
            self.done()

    def abort(self) -> None:
        if not self.ended:
            self.aborted = True

    def resume(self) -> None:
        self.resumed += 1

    def _check(self) -> None:
        if self.over:
            raise AssertionError("the transfer is over: its sink must hear nothing more")


class ScriptedTransport:
    """A ``core.http.Transport`` that keeps every transfer it was asked for.

    Args:
        reply: called with each new transfer on the next turn of the loop, for tests
            in which the server follows a rule.
    """

    supports_abort = True

    def __init__(self, reply: Callable[[ScriptedTransfer], None] | None = None) -> None:
        self.transfers: list[ScriptedTransfer] = []
        self.refuse_with: Exception | None = None
        self._reply = reply
        self._taken = 0
        self._news = asyncio.Event()

    def start(self, request: WireRequest, pin: Pin, belt: Belt, sink: Sink) -> ScriptedTransfer:
        if self.refuse_with is not None:
            raise self.refuse_with
        transfer = ScriptedTransfer(request, pin, belt, sink)
        self.transfers.append(transfer)
        self._news.set()
        if self._reply is not None:
            asyncio.get_running_loop().call_soon(self._play, transfer)
        return transfer

    async def next(self) -> ScriptedTransfer:
        """Return the next transfer that nobody has taken, waiting for it."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while len(self.transfers) <= self._taken:
                self._news.clear()
                await self._news.wait()
        self._taken += 1
        return self.transfers[self._taken - 1]

    def _play(self, transfer: ScriptedTransfer) -> None:
        if self._reply is not None and not transfer.over:
            self._reply(transfer)
