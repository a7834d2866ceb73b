"""The little HTTP/1.1 that the demo server needs: requests with a length, chunked answers.

Sources: RFC 9110, RFC 9112.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024
HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request.

    Attributes:
        method: as sent.
        target: path and query as sent.
        headers: names in lower case; of a repeated name, the last value.
        body: all of it.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def keep_alive(self) -> bool:
        """Whether the client means to use the connection again."""
        return self.headers.get("connection", "").lower() != "close"


class _Refused(Exception):
    """The request is not one that this server reads."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


Handler = Callable[[Incoming, "HttpConnection"], Awaitable[None]]


class HttpConnection(asyncio.Protocol):
    """One client's connection: reads requests one after the other and has each answered.

    When the client goes away the handler's task is cancelled at once, whatever it waits for,
    after ``on_lost`` has been called.

    Args:
        handler: answers one request.
        connections: where the connection keeps itself while it lives.
    """

    def __init__(self, handler: Handler, connections: set[HttpConnection]) -> None:
        self._handler = handler
        self._connections = connections
        self._buffer = bytearray()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport
        self.task: asyncio.Task[None]
        self.on_lost: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve."""
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)
        self.task = asyncio.get_running_loop().create_task(self._serve())
        self.task.add_done_callback(self._finished)

    def data_received(self, data: bytes) -> None:
        """Keep what came; a client that sends without end is cut off."""
        self._buffer += data
        if len(self._buffer) > MAX_HEAD + MAX_BODY:
            self._transport.abort()
        self._arrived.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop at once: nobody listens any more."""
        if self.on_lost is not None:
            self.on_lost()
            self.on_lost = None
        self.task.cancel()

    def pause_writing(self) -> None:
        """Hold writes back: the client reads slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let writes go on."""
        self._writable.set()

    def abort(self) -> None:
        """Drop the connection."""
        self._transport.abort()

    async def write(self, data: bytes) -> None:
        """Send ``data`` at once, and wait while the client is behind."""
        self._transport.write(data)
        await self._writable.wait()

    async def answer(
        self, status: int, body: bytes, *, content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        """Send a whole answer."""
        fields = {"Content-Length": str(len(body)), "Content-Type": content_type}
        await self.write(_head(status, fields | (headers or {})) + body)

    async def answer_json(
        self, status: int, value: Any, *, headers: dict[str, str] | None = None
    ) -> None:
        """Send a whole answer in JSON."""
        body = json.dumps(value).encode()
        await self.answer(status, body, content_type="application/json", headers=headers)

    async def begin_events(self) -> None:
        """Send the head of an event stream."""
        fields = {
            "Content-Type": "text/event-stream; charset=utf-8",
            "Cache-Control": "no-cache",
            "Transfer-Encoding": "chunked",
        }
        await self.write(_head(200, fields))

    async def event(self, data: str) -> None:
        """Send one event of a stream."""
        event = f"data: {data}\n\n".encode()
        await self.write(b"%x\r\n%b\r\n" % (len(event), event))

    async def end_events(self) -> None:
        """Send the end of a stream."""
        await self.write(b"0\r\n\r\n")

    async def _serve(self) -> None:
        try:
            keep_alive = True
            while keep_alive:
                incoming = await self._next()
                await self._handler(incoming, self)
                keep_alive = incoming.keep_alive
        except _Refused as refused:
            phrase = HTTPStatus(refused.status).phrase.encode()
            headers = {"Connection": "close"}
            await self.answer(refused.status, phrase, content_type="text/plain", headers=headers)
        finally:
            self._transport.close()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(self)
        if not task.cancelled() and (error := task.exception()) is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "The demo server failed to answer", "exception": error, "task": task}
            )

    async def _next(self) -> Incoming:
        """Return the next request."""
        while (length := self._buffer.find(HEAD_END, 0, MAX_HEAD)) < 0:
            if len(self._buffer) >= MAX_HEAD:
                raise _Refused(431)
            await self._more()
        method, target, headers = _parse_head(bytes(self._buffer[:length]))
        if "transfer-encoding" in headers:
            raise _Refused(411)
        if headers.get("expect", "").lower() == "100-continue":
            await self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        start = length + len(HEAD_END)
        end = start + _body_length(headers)
        while len(self._buffer) < end:
            await self._more()
        body = bytes(self._buffer[start:end])
        del self._buffer[:end]
        return Incoming(method, target, headers, body)

    async def _more(self) -> None:
        self._arrived.clear()
        await self._arrived.wait()


def _head(status: int, fields: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _body_length(headers: dict[str, str]) -> int:
    text = headers.get("content-length", "0")
    if not (text.isascii() and text.isdecimal()):
        raise _Refused(400)
    if len(text) > 12 or int(text) > MAX_BODY:
        raise _Refused(413)
    return int(text)


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[1].startswith("/"):
        raise _Refused(400)
    if words[2] != "HTTP/1.1":
        raise _Refused(505)
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise _Refused(400)
        headers[name.lower()] = value.strip()
    return words[0], words[1], headers
