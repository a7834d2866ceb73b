"""A small HTTP/2 server over TLS that a test leads by the hand.

It reads frames and never a header block: a test tells streams apart by their order.
Source: RFC 9113.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_STATUS_200 = b"\x88"
_WINDOW_SIZE = 65_535


@dataclass
class H2Seen:
    """What a running server has seen, over all connections."""

    port: int = 0
    connections: int = 0
    streams: list[H2Stream] = field(default_factory=list)
    resets: list[tuple[H2Stream, int]] = field(default_factory=list)
    closed: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait, no longer than five seconds, until ``condition`` holds."""
        async with asyncio.timeout(5), self.changed:
            await self.changed.wait_for(condition)


class H2Stream:
    """One request of the client."""

    def __init__(self, connection: _Connection, number: int, block: bytes) -> None:
        self.connection = connection
        self.number = number
        self.block = block
        self.reset = False

    def head(self, *, last: bool = False) -> None:
        """Send status 200 without a header."""
        flags = _END_HEADERS | (_END_STREAM if last else 0)
        self.connection.send(_HEADERS, flags, self.number, _STATUS_200)

    async def body(self, data: bytes, *, last: bool = True) -> None:
        """Send ``data`` as fast as the client's windows let it."""
        for at in range(0, len(data), 16_384):
            piece = data[at : at + 16_384]
            await self.connection.room(self, len(piece))
            end = last and at + len(piece) == len(data)
            self.connection.send(_DATA, _END_STREAM if end else 0, self.number, piece)

    def fail(self, code: int) -> None:
        """Reset the stream."""
        self.connection.send(_RST, 0, self.number, struct.pack(">I", code))


class _Connection:
    def __init__(self, seen: H2Seen, writer: asyncio.StreamWriter) -> None:
        self.seen = seen
        self.number = seen.connections
        self._writer = writer
        self._windows: defaultdict[int, int] = defaultdict(lambda: _WINDOW_SIZE)
        self.streams: dict[int, H2Stream] = {}

    def send(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        head = struct.pack(">I", len(payload))[1:] + bytes([kind, flags])
        self._writer.write(head + struct.pack(">I", stream) + payload)

    def go_away(self, code: int) -> None:
        """Say that no further stream is taken, and close."""
        last = max(self.streams, default=0)
        self.send(_GOAWAY, 0, 0, struct.pack(">II", last, code))
        self._writer.close()

    async def room(self, stream: H2Stream, size: int) -> None:
        async with self.seen.changed:
            await self.seen.changed.wait_for(
                lambda: stream.reset or min(self._windows[0], self._windows[stream.number]) >= size
            )
        if stream.reset:
            raise ConnectionResetError
        self._windows[0] -= size
        self._windows[stream.number] -= size

    async def read(self, reader: asyncio.StreamReader) -> AsyncIterator[H2Stream]:
        """Yield each request of the client as it comes."""
        assert await reader.readexactly(len(_PREFACE)) == _PREFACE
        self.send(_SETTINGS, 0, 0, b"")
        while True:
            head = await reader.readexactly(9)
            size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            number = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
            payload = await reader.readexactly(size)
            async with self.seen.changed:
                opened = self._take(kind, flags, number, payload)
                self.seen.changed.notify_all()
            if opened is not None:
                yield opened

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> H2Stream | None:
        if kind == _SETTINGS and not flags & _ACK:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack(">HI", payload[at : at + 6])
                if name == 4:  # the first window of every stream
                    self._windows.default_factory = lambda value=value: value
                    self._windows.setdefault(0, _WINDOW_SIZE)
            self.send(_SETTINGS, _ACK, 0, b"")
        elif kind == _PING and not flags & _ACK:
            self.send(_PING, _ACK, 0, payload)
        elif kind == _WINDOW:
            self._windows[number] += int.from_bytes(payload, "big") & 0x7FFFFFFF
        elif kind == _RST and number in self.streams:
            stream = self.streams[number]
            stream.reset = True
            self.seen.resets.append((stream, int.from_bytes(payload, "big")))
        elif kind == _HEADERS and number not in self.streams:
            stream = self.streams[number] = H2Stream(self, number, payload)
            self.seen.streams.append(stream)
            return stream
        return None


@asynccontextmanager
async def serve_h2(
    answer: Callable[[H2Stream, int], object], tls: ssl.SSLContext
) -> AsyncIterator[H2Seen]:
    """Run a server.

    Args:
        answer: called with each stream and its number in order, from 0; what it returns is
            awaited in a task of its own if it can be.
        tls: the server's context; it is told to offer ``h2`` alone.
    """
    tls.set_alpn_protocols(["h2"])
    seen = H2Seen()
    tasks: set[asyncio.Task[object]] = set()

    def keep(work: object) -> None:
        if asyncio.iscoroutine(work):
            task: asyncio.Task[object] = asyncio.get_running_loop().create_task(work)
            tasks.add(task)
            task.add_done_callback(_done)

    def _done(task: asyncio.Task[object]) -> None:
        tasks.discard(task)
        if not task.cancelled() and not isinstance(task.exception(), (ConnectionError, type(None))):
            raise task.exception() or AssertionError

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(seen, writer)
        seen.connections += 1
        try:
            async for stream in connection.read(reader):
                keep(answer(stream, len(seen.streams) - 1))
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            async with seen.changed:
                seen.closed += 1
                seen.changed.notify_all()
        finally:
            writer.transport.abort()

    listening = await asyncio.start_server(
        lambda reader, writer: keep(talk(reader, writer)), "127.0.0.1", 0, ssl=tls
    )
    seen.port = listening.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # the aborted connections close their sockets
