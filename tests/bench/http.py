"""Abort latency, cost of a small GET, and a thousand stalled calls, each beside peers.

Run it with ``python -m tests.bench.http``. The server is a process of its own and
says when it saw a connection close; rounds are interleaved and medians are printed.
Times of an abort run from the request to stop until the server saw the close.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import IO, Any

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

ROUNDS = 5
ABORTS = 100
TICKER_ABORTS = 20
GETS = 2_000
HTTPX_GETS = 300
STALLED = 1_000

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nhello, world"


# ---- the server, in a process of its own


class _Protocol(asyncio.Protocol):
    """Answers ``GET /``; says nothing to anything else, and reports both ends of it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.stalled = False

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET / "):
            self.transport.write(_ANSWER)
        elif not self.stalled:
            self.stalled = True
            print("arrived", time.monotonic_ns(), flush=True)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.stalled:
            print("closed", time.monotonic_ns(), flush=True)


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
        [sys.executable, "-m", "tests.bench.http", "--serve"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield Reports(process.stdout, process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def _cores_apart(pid: int) -> Iterator[None]:
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


# ---- ours


class NoAudit:
    """A sink that costs nothing, so that the client alone is measured."""

    def check(self) -> None:
        """Say that all is well."""

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


def client(transport: CurlTransport, port: int) -> VaultHttpClient:
    """Return a client of ours for the server."""
    return VaultHttpClient(
        transport=transport,
        resolver=ThreadResolver(),
        policy=AddressPolicy(),
        audit=NoAudit(),
        clock=SystemClock(),
        ids=RandomIds(),
        allow=(f"127.0.0.1:{port}",),
        bounds=Bounds(total=600),
    )


# ---- abort latency


async def abort_ours(reports: Reports, count: int) -> list[float]:
    """Return microseconds of ``count`` aborts by a signal."""
    transport = CurlTransport()
    sender = client(transport, reports.port)
    request = Request("GET", f"http://127.0.0.1:{reports.port}/stall")
    taken = []
    for _ in range(count):
        signal = CancelSignal()
        task = asyncio.create_task(sender.send_cancellable(request, signal))
        await reports.take("arrived")
        begun = time.monotonic_ns()
        signal.set()
        await asyncio.gather(task, return_exceptions=True)
        taken.append((await reports.take("closed") - begun) / 1_000)
    transport.close()
    return taken


async def abort_httpx(reports: Reports, count: int) -> list[float]:
    """Return microseconds of ``count`` aborts of httpx by cancelling the task."""
    taken = []
    async with httpx.AsyncClient(timeout=None) as sender:
        for _ in range(count):
            task = asyncio.create_task(sender.get(f"http://127.0.0.1:{reports.port}/stall"))
            await reports.take("arrived")
            begun = time.monotonic_ns()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            taken.append((await reports.take("closed") - begun) / 1_000)
    return taken


async def abort_ticker(reports: Reports, count: int) -> list[float]:
    """Return microseconds of ``count`` aborts of the same libcurl, looked at every 0.1 s."""
    taken = []
    for _ in range(count):
        stop = threading.Event()
        thread = threading.Thread(target=_tick, args=(reports.port, stop))
        thread.start()
        await reports.take("arrived")
        # Anywhere within a tick, as a person's key press would be.
        await asyncio.sleep((time.monotonic_ns() % 97) / 1_000)
        begun = time.monotonic_ns()
        stop.set()
        taken.append((await reports.take("closed") - begun) / 1_000)
        thread.join()
    return taken


def _tick(port: int, stop: threading.Event) -> None:
    multi, easy = pycurl.CurlMulti(), pycurl.Curl()
    easy.setopt(pycurl.URL, f"http://127.0.0.1:{port}/stall")
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
    url = parse_url(f"http://127.0.0.1:{reports.port}/", (f"127.0.0.1:{reports.port}",))
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
    transport = CurlTransport()
    sender = client(transport, reports.port)
    request = Request("GET", f"http://127.0.0.1:{reports.port}/", (("Accept", "*/*"),))
    for _ in range(count):
        await sender.send(request)
    transport.close()


async def get_pycurl(reports: Reports, count: int) -> None:
    """Send with pycurl's own asyncio multi, nothing hardened."""
    headers = ["Accept: */*", "User-Agent: bench", "Accept-Encoding: identity"]
    async with pycurl.AsyncCurlMulti() as multi:
        for _ in range(count):
            easy = pycurl.Curl()
            easy.setopt(pycurl.URL, f"http://127.0.0.1:{reports.port}/")
            easy.setopt(pycurl.HTTPHEADER, headers)
            easy.setopt(pycurl.WRITEFUNCTION, lambda chunk: None)
            await multi.perform(easy)
            easy.close()


async def get_httpx(reports: Reports, count: int) -> None:
    """Send with httpx."""
    async with httpx.AsyncClient() as sender:
        for _ in range(count):
            await sender.get(f"http://127.0.0.1:{reports.port}/")


# ---- a thousand stalled calls


async def stalled(reports: Reports, count: int) -> dict[str, float]:
    """Open ``count`` calls, look at them idle, abort them all with one signal."""
    transport = CurlTransport()
    sender, signal = client(transport, reports.port), CancelSignal()
    request = Request("GET", f"http://127.0.0.1:{reports.port}/stall")
    descriptors, memory = len(os.listdir("/proc/self/fd")), _resident_kib()
    tasks = [asyncio.create_task(sender.send_cancellable(request, signal)) for _ in range(count)]
    for _ in range(count):
        await reports.take("arrived")
    memory = _resident_kib() - memory
    cpu = time.process_time()
    await asyncio.sleep(1.0)
    idle = (time.process_time() - cpu) * 1_000
    begun = time.monotonic_ns()
    signal.set()
    aborted = (time.monotonic_ns() - begun) / 1e6
    await asyncio.gather(*tasks, return_exceptions=True)
    closed = max([await reports.take("closed") for _ in range(count)])
    transport.close()
    return {
        "KiB a call": memory / count,
        "idle CPU ms/s": idle,
        "abort all, ms": aborted,
        "last close seen, ms": (closed - begun) / 1e6,
        "descriptors left": len(os.listdir("/proc/self/fd")) - descriptors,
    }


def _resident_kib() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1_024


# ---- printing


def measure_aborts(reports: Reports) -> None:
    """Print abort latencies."""
    runs: dict[str, tuple[Callable[[Reports, int], Coroutine[Any, Any, list[float]]], int]] = {
        "ours": (abort_ours, ABORTS),
        "httpx, task.cancel()": (abort_httpx, ABORTS),
        "ticker, 0.1 s": (abort_ticker, TICKER_ABORTS),
    }
    medians: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, (run, count) in runs.items():
            medians[name].append(statistics.median(asyncio.run(run(reports, count))))
    _print("abort: until the peer saw the close, p50", medians, "us")


def measure_gets(reports: Reports) -> None:
    """Print CPU time of a small GET."""
    runs: dict[str, tuple[Callable[[Reports, int], Coroutine[Any, Any, None]], int]] = {
        "ours, transport alone": (get_transport, GETS),
        "ours, whole client": (get_client, GETS),
        "pycurl.AsyncCurlMulti, bare": (get_pycurl, GETS),
        "httpx": (get_httpx, HTTPX_GETS),
    }
    costs: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, (run, count) in runs.items():
            asyncio.run(run(reports, 20))
            begun = time.process_time()
            asyncio.run(run(reports, count))
            costs[name].append((time.process_time() - begun) / count * 1e6)
    _print("small GET, one at a time, CPU of this process", costs, "us")


def measure_stalled(reports: Reports) -> None:
    """Print what a thousand stalled calls cost.

    Memory is the first round's: later ones find the heap already grown.
    """
    rounds = [asyncio.run(stalled(reports, STALLED)) for _ in range(ROUNDS)]
    print(f"\n{STALLED} stalled calls")
    for name in rounds[0]:
        value = statistics.median(one[name] for one in rounds)
        if name == "KiB a call":
            value = rounds[0][name]
        print(f"  {name:<32}{value:>10.2f}")


def _print(title: str, figures: dict[str, list[float]], unit: str) -> None:
    first = statistics.median(next(iter(figures.values())))
    print(f"\n{title}")
    for name, values in figures.items():
        value = statistics.median(values)
        print(f"  {name:<32}{value:>10.1f} {unit}   {first / value:>8.4f}")


def main() -> None:
    """Run all, or with ``--serve`` the server."""
    if "--serve" in sys.argv:
        asyncio.run(_serve())
        return
    print(f"medians of {ROUNDS} interleaved rounds; the last column is ours / the line")
    with server() as reports:
        measure_stalled(reports)
        with _cores_apart(reports.pid):
            measure_aborts(reports)
        measure_gets(reports)


if __name__ == "__main__":
    main()
