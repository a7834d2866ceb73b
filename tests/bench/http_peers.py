"""The same work done by this project's client and by others: what the HTTP bench times."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx
import pycurl

from core.clock import SystemClock
from core.http import (
    AddressPolicy,
    Belt,
    Bounds,
    CancelSignal,
    CurlTransport,
    Fault,
    Pin,
    Request,
    ThreadResolver,
    VaultHttpClient,
    WireRequest,
    parse_url,
)
from core.ids import RandomIds
from core.model import AuditEntry
from tests.bench.http_server import Reports

Stop = Callable[[], object]
Chunks = AsyncIterator[bytes]


class NoAudit:
    """A sink that costs nothing, so that the client alone is measured."""

    async def begin(self, entry: AuditEntry) -> None:
        """Forget ``entry``."""

    async def append(self, entry: AuditEntry) -> None:
        """Forget ``entry``."""


class Collect:
    """The cheapest sink there is."""

    def __init__(self) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connected(self) -> None:
        """Nothing to do."""

    def head(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        """Nothing to do."""

    def data(self, chunk: bytes) -> bool:
        """Drop it."""
        return True

    def end(self, fault: Fault | None, number: int) -> None:
        """Let the waiter go on."""
        self.over.set_result(None)


@asynccontextmanager
async def our_client(reports: Reports) -> AsyncIterator[VaultHttpClient]:
    """Give a client of ours for the server."""
    transport = CurlTransport()
    try:
        yield VaultHttpClient(
            transport=transport,
            resolver=ThreadResolver(),
            policy=AddressPolicy(),
            audit=NoAudit(),
            clock=SystemClock(),
            ids=RandomIds(),
            allow=(f"127.0.0.1:{reports.port}",),
            bounds=Bounds(total=600),
        )
    finally:
        transport.close()


def aiohttp_client() -> aiohttp.ClientSession:
    """Return a client of aiohttp's without limits."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None)
    )


def httpx_client() -> httpx.AsyncClient:
    """Return a client of httpx's without limits."""
    return httpx.AsyncClient(timeout=None, limits=httpx.Limits(max_connections=None))


# ---- calls that stall, and how each is stopped


@asynccontextmanager
async def stalling_ours(reports: Reports) -> AsyncIterator[Callable[[], tuple[Any, Stop]]]:
    """Give a function that begins a call; it returns its task and what stops it.

    Calls that are begun before the signal is raised share it, as the calls of a run do.
    """
    async with our_client(reports) as client:
        request, signal = Request("GET", reports.url("/stall")), CancelSignal()

        def begin() -> tuple[Any, Stop]:
            nonlocal signal
            if signal.is_set():
                signal = CancelSignal()
            return asyncio.create_task(client.send_cancellable(request, signal)), signal.set

        yield begin


@asynccontextmanager
async def stalling_aiohttp(reports: Reports) -> AsyncIterator[Callable[[], tuple[Any, Stop]]]:
    """The same of aiohttp, stopped by cancelling the task."""
    async with aiohttp_client() as client:

        async def get() -> None:
            async with client.get(reports.url("/stall")) as response:
                await response.read()

        def begin() -> tuple[Any, Stop]:
            task = asyncio.create_task(get())
            return task, task.cancel

        yield begin


@asynccontextmanager
async def stalling_httpx(reports: Reports) -> AsyncIterator[Callable[[], tuple[Any, Stop]]]:
    """The same of httpx, stopped by cancelling the task."""
    async with httpx_client() as client:

        def begin() -> tuple[Any, Stop]:
            task = asyncio.create_task(client.get(reports.url("/stall")))
            return task, task.cancel

        yield begin


async def abort_ticker(reports: Reports, count: int) -> list[float]:
    """Return microseconds of ``count`` aborts of the same libcurl, looked at every 0.1 s."""
    taken = []
    for _ in range(count):
        stop = threading.Event()
        thread = threading.Thread(target=_tick, args=(reports.url("/stall"), stop))
        thread.start()
        await reports.take("arrived")
        # Anywhere within a tick, as a person's key press would be.
        await asyncio.sleep((time.monotonic_ns() % 97) / 1_000)
        begun = time.monotonic_ns()
        stop.set()
        taken.append((await reports.take("closed") - begun) / 1_000)
        thread.join()
    return taken


def _tick(url: str, stop: threading.Event) -> None:
    multi, easy = pycurl.CurlMulti(), pycurl.Curl()
    easy.setopt(pycurl.URL, url)
    easy.setopt(pycurl.NOSIGNAL, 1)
    multi.add_handle(easy)
    while not stop.is_set():
        multi.perform()
        multi.select(0.1)
    multi.remove_handle(easy)
    easy.close()
    multi.close()


# ---- a small GET


async def get_transport(reports: Reports, count: int) -> None:
    """Send with our transport alone, all hardening on."""
    transport = CurlTransport()
    url = parse_url(reports.url("/"), (f"127.0.0.1:{reports.port}",))
    headers = (("Accept", "*/*"), ("User-Agent", "bench"), ("Accept-Encoding", "identity"))
    wire, belt = WireRequest("GET", url, headers, b""), Belt(11_000, 601_000)
    pin = Pin("bench.invalid", ("127.0.0.1",), True)
    for _ in range(count):
        sink = Collect()
        transport.start(wire, pin, belt, sink)
        await sink.over
    transport.close()


async def get_client(reports: Reports, count: int) -> None:
    """Send with the whole client, rows going nowhere."""
    async with our_client(reports) as client:
        request = Request("GET", reports.url("/"), (("Accept", "*/*"),))
        for _ in range(count):
            await client.send(request)


async def get_pycurl(reports: Reports, count: int) -> None:
    """Send with pycurl's own asyncio multi, nothing hardened."""
    headers = ["Accept: */*", "User-Agent: bench", "Accept-Encoding: identity"]
    async with pycurl.AsyncCurlMulti() as multi:
        for _ in range(count):
            easy = pycurl.Curl()
            easy.setopt(pycurl.URL, reports.url("/"))
            easy.setopt(pycurl.HTTPHEADER, headers)
            easy.setopt(pycurl.WRITEFUNCTION, lambda chunk: None)
            await multi.perform(easy)
            easy.close()


async def get_aiohttp(reports: Reports, count: int) -> None:
    """Send with aiohttp."""
    async with aiohttp_client() as client:
        for _ in range(count):
            async with client.get(reports.url("/")) as response:
                await response.read()


async def get_httpx(reports: Reports, count: int) -> None:
    """Send with httpx."""
    async with httpx_client() as client:
        for _ in range(count):
            await client.get(reports.url("/"))


# ---- a body as it comes

Read = Callable[[Reports, str], Any]


@asynccontextmanager
async def body_ours(reports: Reports, path: str) -> AsyncIterator[Chunks]:
    """Give the pieces of an answer, as our client has them."""
    request = Request("GET", reports.url(path))
    async with our_client(reports) as client, client.stream(request) as stream:
        yield stream


@asynccontextmanager
async def body_aiohttp(reports: Reports, path: str) -> AsyncIterator[Chunks]:
    """Give the pieces of an answer, as aiohttp has them."""
    async with aiohttp_client() as client, client.get(reports.url(path)) as response:
        yield response.content.iter_any()


@asynccontextmanager
async def body_httpx(reports: Reports, path: str) -> AsyncIterator[Chunks]:
    """Give the pieces of an answer, as httpx has them."""
    async with httpx_client() as client, client.stream("GET", reports.url(path)) as response:
        yield response.aiter_raw()


async def events(chunks: Chunks) -> AsyncIterator[list[bytes]]:
    """Cut ``chunks`` into events, as cheaply as can be: the peers share this."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n\n")
        yield whole


Run = Callable[[Reports, int], Coroutine[Any, Any, None]]
