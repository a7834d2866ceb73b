"""A loopback HTTP server whose every byte the test decides."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Seen:
    """One request as it came over the wire."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes
    connection: int

    @property
    def path(self) -> str:
        return self.line.split()[1]

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


Handler = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """What a running server has seen."""

    port: int
    requests: list[Seen] = field(default_factory=list)
    connections: int = 0
    closed: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    peer_closed: asyncio.Event = field(default_factory=asyncio.Event)

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


def answer(body: bytes = b"", status: str = "200 OK", *headers: str) -> bytes:
    """Return a whole HTTP/1.1 answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def says(raw: bytes) -> Handler:
    """Return a handler that writes ``raw`` for every request."""

    async def handle(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)

    return handle


async def silent(_seen: Seen, _writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.Event().wait()


@asynccontextmanager
async def serve(
    handler: Handler, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    """Run a server; its connections end with the block."""
    server = Server(0)
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        number = server.connections
        try:
            while True:
                seen = await _read_request(reader, number)
                server.requests.append(seen)
                server.arrived.set()
                await _answer_while_open(handler, seen, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, _PeerGone, ssl.SSLError):
            server.closed += 1
            server.peer_closed.set()
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(talk(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listening = await asyncio.start_server(accept, host, 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _PeerGone(Exception):
    pass


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *rest = head.rstrip("\r\n").split("\r\n")
    headers = [(k, v.strip()) for k, _, v in (one.partition(":") for one in rest)]
    size = next((int(v) for k, v in headers if k.lower() == "content-length"), 0)
    body = await reader.readexactly(size) if size else b""
    return Seen(line, headers, body, connection)


async def _answer_while_open(
    handler: Handler, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    async def work() -> None:
        await handler(seen, writer)
        await writer.drain()

    answering = asyncio.create_task(work())
    listening = asyncio.create_task(reader.read(1))
    try:
        await asyncio.wait({answering, listening}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise _PeerGone
        await answering
    finally:
        for task in (answering, listening):
            task.cancel()
        await asyncio.wait({answering, listening})
        for task in (answering, listening):
            if not task.cancelled():
                task.exception()
    if writer.is_closing():
        raise _PeerGone
