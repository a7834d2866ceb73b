"""The server of the HTTP bench: a process of its own, with nothing of ours in it.

It says on its standard output when a stalled call arrived and when it saw it close.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nhello, world"
_STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
EVENTS = 30_000
PACED = 1_200
PER_SECOND = 2_000
BULK = 100 * 1024 * 1024

_EVENT = b'data: {"choices":[{"index":0,"delta":{"content":" word"}}],"id":"x"}\n\n'


_said: list[str] = []


def _say(word: str) -> None:
    # Said at the end of the loop's turn, so that telling takes no time from seeing.
    if not _said:
        asyncio.get_running_loop().call_soon(_flush)
    _said.append(f"{word} {time.monotonic_ns()}\n")


def _flush() -> None:
    sys.stdout.write("".join(_said))
    sys.stdout.flush()
    _said.clear()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class _Protocol(asyncio.Protocol):
    """Answers ``/``, ``/burst``, ``/paced`` and ``/bulk``; to anything else it says nothing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.stalled = False
        self.work: asyncio.Task[None] | None = None
        self.room = asyncio.Event()
        self.room.set()

    def pause_writing(self) -> None:
        self.room.clear()

    def resume_writing(self) -> None:
        self.room.set()

    def data_received(self, data: bytes) -> None:
        path = data.split(b" ", 2)[1]
        if path == b"/":
            self.transport.write(_ANSWER)
        elif path == b"/burst":
            self._begin(_chunk(_EVENT) * 100, EVENTS // 100)  # an event a chunk, as models send
        elif path == b"/bulk":
            self._begin(_chunk(bytes(65_536)), BULK // 65_536)
        elif path == b"/paced":
            self.work = asyncio.get_running_loop().create_task(self._pace())
        elif not self.stalled:
            self.stalled = True
            _say("arrived")

    def eof_received(self) -> None:
        self._closed()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.work is not None:
            self.work.cancel()
        self._closed()

    def _closed(self) -> None:
        if self.stalled:
            self.stalled = False
            _say("closed")

    def _begin(self, piece: bytes, times: int) -> None:
        self.work = asyncio.get_running_loop().create_task(self._flood(piece, times))

    async def _flood(self, piece: bytes, times: int) -> None:
        self.transport.write(_STREAM)
        for _ in range(times):
            await self.room.wait()
            self.transport.write(piece)
        self._end()

    def _end(self) -> None:
        self.transport.write(_chunk(b""))
        self.transport.close()

    async def _pace(self) -> None:
        self.transport.write(_STREAM)
        begun = time.monotonic()
        for number in range(PACED):
            await asyncio.sleep(begun + number / PER_SECOND - time.monotonic())
            self.transport.write(_chunk(b"data: %d\n\n" % time.monotonic_ns()))
        self._end()


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Protocol, "127.0.0.1", 0, backlog=2_048)
    print("port", server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


class Reports:
    """What the server says, as it says it."""

    def __init__(self, pipe: IO[bytes], pid: int) -> None:
        self.pid = pid
        self._pipe = pipe
        self.port = self._take_blocking("port")

    def url(self, path: str) -> str:
        """Return the address of ``path`` on the server."""
        return f"http://127.0.0.1:{self.port}{path}"

    async def take(self, word: str) -> int:
        """Return the number of the next report, which must be a ``word``."""
        return await asyncio.to_thread(self._take_blocking, word)

    def _take_blocking(self, word: str) -> int:
        said, number = self._pipe.readline().split()
        if said.decode() != word:
            raise RuntimeError(f"the server said {said!r} instead of {word!r}")
        return int(number)


@contextmanager
def server() -> Iterator[Reports]:
    """Run the server."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.http_server"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield Reports(process.stdout, process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def cores_apart(pid: int) -> Iterator[None]:
    """Give the server a core of its own: else it sees a close when ours falls asleep."""
    cores = os.sched_getaffinity(0)
    if len(cores) > 1:
        first, *rest = sorted(cores)
        os.sched_setaffinity(pid, {first})
        os.sched_setaffinity(0, rest)
    try:
        yield
    finally:
        os.sched_setaffinity(pid, cores)
        os.sched_setaffinity(0, cores)


if __name__ == "__main__":
    asyncio.run(_serve())
