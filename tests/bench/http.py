"""The bars of the HTTP client, measured beside its peers in one run.

Run it with ``python -m tests.bench.http``. Rounds are interleaved and medians are printed,
each ratio beside its bar. Times of an abort run from the request to stop until the server,
a process of its own, saw the close. CPU time is that of this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

from tests.bench import http_peers as peers
from tests.bench.http_server import BULK, EVENTS, PACED, Reports, cores_apart, server

ROUNDS = 5
ABORTS = 100
TICKER_ABORTS = 20
GETS = 2_000
HTTPX_GETS = 300
STALLED = 1_000

STALLING = {
    "ours": peers.stalling_ours,
    "aiohttp": peers.stalling_aiohttp,
    "httpx": peers.stalling_httpx,
}
GETTING: dict[str, tuple[peers.Run, int]] = {
    "ours": (peers.get_transport, GETS),
    "ours, whole client": (peers.get_client, GETS),
    "pycurl.AsyncCurlMulti, bare": (peers.get_pycurl, GETS),
    "aiohttp": (peers.get_aiohttp, GETS),
    "httpx": (peers.get_httpx, HTTPX_GETS),
}
READING: dict[str, peers.Read] = {
    "ours": peers.body_ours,
    "aiohttp": peers.body_aiohttp,
    "httpx": peers.body_httpx,
}

Figures = dict[str, list[float]]


async def abort(kind: str, reports: Reports, count: int) -> list[float]:
    """Return microseconds of ``count`` aborts."""
    taken = []
    async with STALLING[kind](reports) as begin:
        for _ in range(count):
            task, stop = begin()
            await reports.take("arrived")
            begun = time.monotonic_ns()
            stop()
            await asyncio.gather(task, return_exceptions=True)
            taken.append((await reports.take("closed") - begun) / 1_000)
    return taken


def measure_aborts(reports: Reports) -> None:
    """Print abort latencies."""
    middle: Figures = {}
    late: Figures = {}
    for _ in range(ROUNDS):
        for kind in [*STALLING, "ticker, 0.1 s"]:
            if kind in STALLING:
                taken = asyncio.run(abort(kind, reports, ABORTS))
            else:
                taken = asyncio.run(peers.abort_ticker(reports, TICKER_ABORTS))
            middle.setdefault(kind, []).append(statistics.median(taken))
            late.setdefault(kind, []).append(statistics.quantiles(taken, n=20)[-1])
    show(
        "abort, until the peer saw the close, p50, us",
        middle,
        {"ticker, 0.1 s": 1 / 200, "aiohttp": 0.85},
    )
    show("abort, p95, us", late, {})


async def stalled(kind: str, reports: Reports, count: int) -> dict[str, float]:
    """Open ``count`` calls, look at them idle, and abort them all."""
    async with STALLING[kind](reports) as begin:
        task, stop = begin()  # everything that is made once is there
        await reports.take("arrived")
        stop()
        await asyncio.gather(task, return_exceptions=True)
        await reports.take("closed")
        before = len(os.listdir("/proc/self/fd"))
        memory, threads = _resident_kib(), _threads()
        calls = [begin() for _ in range(count)]
        for _ in range(count):
            await reports.take("arrived")
        memory, threads = _resident_kib() - memory, _threads() - threads
        cpu = time.process_time()
        await asyncio.sleep(1.0)
        idle = (time.process_time() - cpu) * 1_000
        begun = time.monotonic_ns()
        for _, stop in calls:
            stop()
        await asyncio.gather(*(task for task, _ in calls), return_exceptions=True)
        closed = max([await reports.take("closed") for _ in range(count)])
        await asyncio.sleep(0.1)
        left = len(os.listdir("/proc/self/fd")) - before
    return {
        "idle CPU, ms/s": idle,
        "threads more": threads,
        "KiB a call": memory / count,
        "abort all, last close seen, ms": (closed - begun) / 1e6,
        "descriptors left": left,
    }


def measure_stalled() -> None:
    """Print what a thousand stalled calls cost; each in a process of its own."""
    found: dict[str, Figures] = {}
    for _ in range(ROUNDS):
        for kind in STALLING:
            command = [sys.executable, "-m", "tests.bench.http", "--stalled", kind]
            said = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            for name, value in json.loads(said).items():
                found.setdefault(name, {}).setdefault(kind, []).append(value)
    bars = {"KiB a call": {"aiohttp": 1.0}, "abort all, last close seen, ms": {"aiohttp": 0.6}}
    for name, figures in found.items():
        show(f"{STALLED} stalled calls: {name}", figures, bars.get(name, {}))
    limit("idle CPU, ms/s", found["idle CPU, ms/s"]["ours"], 1.0)
    limit("threads more", found["threads more"]["ours"], 0)
    limit("descriptors left", found["descriptors left"]["ours"], 0)


def measure_gets(reports: Reports) -> None:
    """Print CPU time of a small GET."""
    costs: Figures = {}
    for _ in range(ROUNDS):
        for name, (run, count) in GETTING.items():
            asyncio.run(run(reports, 20))
            begun = time.process_time()
            asyncio.run(run(reports, count))
            costs.setdefault(name, []).append((time.process_time() - begun) / count * 1e6)
    show("small GET, one at a time, CPU us", costs, {"aiohttp": 0.6, "httpx": 0.08})


async def burst(kind: str, reports: Reports) -> float:
    """Return microseconds of CPU an event of a burst costs."""
    count = 0
    begun = time.process_time()
    async with READING[kind](reports, "/burst") as chunks:
        async for whole in peers.events(chunks):
            count += len(whole)
    assert count == EVENTS
    return (time.process_time() - begun) / count * 1e6


async def paced(kind: str, reports: Reports) -> tuple[float, float]:
    """Return microseconds: from an event's writing to its reading (p50), and of CPU for each."""
    delays = []
    begun = time.process_time()
    async with READING[kind](reports, "/paced") as chunks:
        async for whole in peers.events(chunks):
            now = time.monotonic_ns()
            delays += [(now - int(event[6:])) / 1_000 for event in whole]
    assert len(delays) == PACED
    return statistics.median(delays), (time.process_time() - begun) / PACED * 1e6


async def slow(kind: str, reports: Reports) -> float:
    """Return MiB that a reader of 50 MB a second makes the process grow by."""
    taken, grown = 0, 0
    async with READING[kind](reports, "/bulk") as chunks:
        before, begun = _resident_kib(), time.monotonic()
        async for chunk in chunks:
            taken += len(chunk)
            await asyncio.sleep(max(begun + taken / 50e6 - time.monotonic(), 0))
            grown = max(grown, _resident_kib() - before)
    assert taken == BULK
    return grown / 1_024


def measure_streams(reports: Reports) -> None:
    """Print what a stream of events costs, and what a slow reader does."""
    costs: Figures = {}
    spaced: Figures = {}
    delays: Figures = {}
    growth: Figures = {}
    for _ in range(ROUNDS):
        for kind in READING:
            costs.setdefault(kind, []).append(asyncio.run(burst(kind, reports)))
            with cores_apart(reports.pid):
                delay, cost = asyncio.run(paced(kind, reports))
            delays.setdefault(kind, []).append(delay)
            spaced.setdefault(kind, []).append(cost)
    for _ in range(ROUNDS):
        for kind in READING:
            growth.setdefault(kind, []).append(asyncio.run(slow(kind, reports)))
    show("SSE in a burst, CPU us an event", costs, {"aiohttp": 0.5})
    show("SSE at 2,000 events a second, CPU us an event", spaced, {})
    show("SSE, from the server's write to the reader, p50, us", delays, {"aiohttp": 0.7})
    show("slow reader of 100 MB, growth in MiB", growth, {})
    limit("growth in MiB", growth["ours"], 1.0)


def show(title: str, figures: Figures, bars: dict[str, float]) -> None:
    """Print medians, and beside each peer the ratio of ours to it and its bar."""
    ours = statistics.median(figures["ours"])
    print(f"\n{title}")
    for name, values in figures.items():
        value = statistics.median(values)
        ratio = "" if name == "ours" or not value else f"{ours / value:9.4f}"
        bar = bars.get(name)
        verdict = ""
        if bar is not None:
            verdict = f"  bar {bar:.4g}: {'holds' if ours <= bar * value else 'MISSED'}"
        print(f"  {name:<30}{value:>12.2f}  {ratio:>9}{verdict}")


def limit(name: str, values: list[float], bar: float) -> None:
    """Print an absolute bar of ours."""
    value = statistics.median(values)
    print(f"  ours, {name}: {value:.2f}  bar {bar:.4g}: {'holds' if value <= bar else 'MISSED'}")


def _threads() -> int:
    # Those that wait for the server's reports aside.
    return sum(not one.name.startswith("asyncio_") for one in threading.enumerate())


def _resident_kib() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1_024


def main(argv: list[str]) -> None:
    """Run all, only the named parts, or with ``--stalled KIND`` one measurement."""
    if argv[:1] == ["--stalled"]:
        with server() as reports:
            found: Any = asyncio.run(stalled(argv[1], reports, STALLED))
        print(json.dumps(found))
        return
    parts = argv or ["aborts", "gets", "streams", "stalled"]
    print(f"medians of {ROUNDS} interleaved rounds; the ratio is ours / the line")
    with server() as reports:
        if "aborts" in parts:
            with cores_apart(reports.pid):
                measure_aborts(reports)
        if "gets" in parts:
            measure_gets(reports)
        if "streams" in parts:
            measure_streams(reports)
    if "stalled" in parts:
        measure_stalled()


if __name__ == "__main__":
    main(sys.argv[1:])
