"""Audit appends: 64 callers in groups beside one commit a row, and four processes.

Run it with ``python -m tests.bench.append [FOLDER]``. Rounds are interleaved, medians are
printed. The baseline is the same driver with one sealed row a transaction, synced (FULL).
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from core.store import open_sqlite
from core.store.sqlite import driver_note
from core.store.sqlite._audit import append
from core.store.sqlite._driver import connect
from core.store.sqlite._open import open_database
from core.store.sqlite._sealing import Sealing
from core.store.sqlite._transact import Transaction
from tests.core.store.builders import entry, seal

ROUNDS = 5
CALLERS = 64
SECONDS = 1.0

Rates = tuple[float, float]


async def grouped(folder: Path) -> Rates:
    """Return rows a second and CPU microseconds a row of 64 callers on our store."""
    store = await open_sqlite(folder / "grouped.db", seal=seal)
    rows = await _fill(store.append_audit)
    await store.close()
    return rows


async def _fill(append_row: Callable[..., Awaitable[object]]) -> Rates:
    done = 0
    ends_at = time.perf_counter() + SECONDS
    cpu, began = time.process_time(), time.perf_counter()

    async def call(number: int) -> None:
        nonlocal done
        while time.perf_counter() < ends_at:
            await append_row(entry(call_id=f"{began}-{number}-{done}", run_id="run"))
            done += 1

    await asyncio.gather(*(call(number) for number in range(CALLERS)))
    spent = time.process_time() - cpu
    return done / (time.perf_counter() - began), spent / done * 1e6


async def one_by_one(folder: Path) -> Rates:
    """Return the same of one commit a row, on the same tables and the same seal."""
    path = folder / "single.db"
    opened = open_database(path)
    assert opened.writable is not None
    connection = opened.writable.connection
    connection.execute("PRAGMA synchronous = FULL")
    sealing = Sealing(seal, opened.database_id, None)
    done = 0
    cpu, began = time.process_time(), time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        connection.execute("BEGIN IMMEDIATE")
        transaction = Transaction(connection=connection)
        append(transaction, sealing, entry(call_id=f"{began}-{done}", run_id="run"))
        connection.execute("COMMIT")
        done += 1
    took = time.perf_counter() - began
    spent = time.process_time() - cpu
    opened.watcher.close()
    opened.writable.close()
    return done / took, spent / done * 1e6


CHILD = """
import asyncio, sys, time
from pathlib import Path
from tests.bench import append
async def main():
    store = await append.open_sqlite(Path(sys.argv[1]), seal=append.seal)
    await asyncio.sleep(max(0, float(sys.argv[2]) - time.time()))
    slowest = 0.0
    async def timed(item):
        nonlocal slowest
        began = time.perf_counter()
        await store.append_audit(item)
        slowest = max(slowest, time.perf_counter() - began)
    rows, cpu = await append._fill(timed)
    print(rows, cpu, slowest * 1000)
    await store.close()
asyncio.run(main())
"""


def processes(folder: Path, count: int) -> tuple[float, float, float]:
    """Return rows a second of all, slowest over fastest, and the longest wait in ms."""
    starts_at = str(time.time() + 1.0 + 0.3 * count)
    path = str(folder / f"processes-{count}.db")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, path, starts_at], stdout=subprocess.PIPE, text=True
        )
        for _ in range(count)
    ]
    figures = [
        [float(word) for word in child.communicate(timeout=60)[0].split()] for child in children
    ]
    rates = [each[0] for each in figures]
    return sum(rates), min(rates) / max(rates), max(each[2] for each in figures)


def main(folder: Path) -> None:
    print(driver_note())
    group: list[Rates] = []
    single: list[Rates] = []
    alone: list[tuple[float, float, float]] = []
    four: list[tuple[float, float, float]] = []
    for number in range(ROUNDS):
        place = folder / str(number)
        place.mkdir()
        single.append(asyncio.run(one_by_one(place)))
        group.append(asyncio.run(grouped(place)))
        alone.append(processes(place, 1))
        four.append(processes(place, 4))
    ratio = statistics.median(g[0] / s[0] for g, s in zip(group, single, strict=True))
    cpu = statistics.median(g[1] for g in group)
    baseline = statistics.median(s[1] for s in single)
    print(f"one commit a row, FULL: {statistics.median(s[0] for s in single):,.0f} rows/s")
    print(f"64 callers, FULL:       {statistics.median(g[0] for g in group):,.0f} rows/s")
    print(f"ratio: {ratio:.1f} (bar 15)")
    print(f"CPU a row: {cpu:.1f} us, one commit a row {baseline:.1f} us, 1/{baseline / cpu:.1f}")
    scale = statistics.median(f[0] / a[0] for f, a in zip(four, alone, strict=True))
    print(f"4 processes over 1: {scale:.2f} (bar 1.0)")
    print(f"fairness, slowest over fastest: {statistics.median(f[1] for f in four):.2f} (bar 0.9)")
    print(f"longest wait, 4 processes: {statistics.median(f[2] for f in four):.0f} ms")
    again = connect(folder / "0" / "grouped.db")
    assert again.execute("SELECT count(*) = max(seq) FROM audit").fetchone() == (1,)
    again.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        main(Path(name))
