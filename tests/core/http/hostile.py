"""Servers that break the rules, and the three ways a client's call meets one."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.http import CancelSignal, Request, Response, VaultHttpClient

WAYS = ("send", "send_cancellable", "stream")

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def through(way: str, client: VaultHttpClient, request: Request) -> Response:
    """Send ``request`` in one of ``WAYS`` and return the whole answer."""
    if way == "send":
        return await client.send(request)
    signal = CancelSignal()
    if way == "send_cancellable":
        return await client.send_cancellable(request, signal)
    async with client.stream(request, signal) as stream:
        body = b"".join([chunk async for chunk in stream])
    return Response(stream.status, stream.headers, body)


@dataclass
class Listener:
    """What a raw server has seen."""

    port: int = 0
    connections: int = 0
    heads: int = 0

    def url(self, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}/"


@asynccontextmanager
async def listen(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[Listener]:
    """Run ``talk`` for every connection, from its first byte on."""
    seen = Listener()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()
            if tls is not None:
                writer.transport.abort()  # else it would wait for the peer's goodbye

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        task = asyncio.get_running_loop().create_task(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listening = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    seen.port = listening.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


def answering(*pieces: bytes, every: float = 0.0, then: str = "close") -> Talk:
    """Read a head, write ``pieces``, and then close, reset, stay or repeat the last one.

    Args:
        pieces: what is written, in order.
        every: seconds between two pieces.
        then: ``close``, ``reset``, ``stay`` or ``repeat``.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            await _write(writer, piece, every)
        while then == "repeat":
            await _write(writer, pieces[-1], every)
        if then == "reset":
            reset(writer)
        if then == "stay":
            await reader.read()

    return talk


async def _write(writer: asyncio.StreamWriter, piece: bytes, pause: float) -> None:
    writer.write(piece)
    await writer.drain()
    await asyncio.sleep(pause)


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with an RST instead of a FIN."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
