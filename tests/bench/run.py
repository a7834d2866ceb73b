"""What a step of a whole run costs, beside a bare insert and a bare read.

A run has two steps a round: a scripted model call and a pure tool call. Everything
between is real: loop, hook, executor, store, events. Run with
``python -m tests.bench.run``.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from core.clock import SystemClock
from core.model import RunRequest, RunStatus
from core.runtime import assemble
from core.tools import tool
from tests.fakes.ids import FixedKeys
from tests.fakes.provider import ScriptedProvider, Turn
from tests.support.runtime import open_store

ROUNDS = 5
MODEL_ROUNDS = 200


@tool(effect="pure")
async def nothing() -> str:
    """Do nothing."""
    return "ok"


async def bare(folder: Path) -> float:
    """Return CPU microseconds of one insert and one read through aiosqlite."""
    import aiosqlite

    steps = MODEL_ROUNDS * 2
    async with aiosqlite.connect(folder / "bare.db", isolation_level=None) as db:
        await db.execute("PRAGMA journal_mode=WAL")
        await db.execute("PRAGMA synchronous=NORMAL")
        await db.execute("CREATE TABLE event (run TEXT, seq INTEGER, body TEXT)")
        begun = time.process_time()
        for seq in range(steps):
            await db.execute("INSERT INTO event VALUES ('r', ?, ?)", (seq, "x" * 300))
            await db.execute_fetchall("SELECT seq FROM event WHERE rowid = ?", (seq + 1,))
        return (time.process_time() - begun) / steps * 1e6


async def ours(folder: Path, synchronous: Literal["auto", "normal"]) -> float:
    """Return CPU microseconds of one step of a run."""
    turn = Turn(text="x" * 200, calls=[("nothing", "{}")])
    store = await open_store(folder / "ours.db", synchronous=synchronous)
    async with assemble(
        store,
        keys=FixedKeys(),
        tools=(nothing,),
        clock=SystemClock(),
        providers={"m": ScriptedProvider([turn], loop=True)},
    ) as runtime:
        request = RunRequest(prompt="go", model="m", tools=("nothing",), max_rounds=MODEL_ROUNDS)
        await runtime.run(replace(request, max_rounds=5))
        begun = time.process_time()
        result = await runtime.run(request)
        cost = (time.process_time() - begun) / (MODEL_ROUNDS * 2) * 1e6
    if result.status is not RunStatus.COMPLETED:
        raise AssertionError(result)
    return cost


async def growth(folder: Path) -> tuple[float, float]:
    """Return CPU microseconds of a step in a run of 20 steps and in one of 1,000."""
    costs = []
    for rounds, repeats in ((10, 50), (500, 1)):
        store = await open_store(folder / f"growth{rounds}.db", synchronous="normal")
        provider = ScriptedProvider([Turn(text="x" * 200, calls=[("nothing", "{}")])], loop=True)
        async with assemble(
            store,
            keys=FixedKeys(),
            tools=(nothing,),
            clock=SystemClock(),
            providers={"m": provider},
        ) as runtime:
            request = RunRequest(prompt="go", model="m", tools=("nothing",), max_rounds=rounds)
            await runtime.run(replace(request, max_rounds=5))
            begun = time.process_time()
            for _ in range(repeats):
                await runtime.run(request)
            costs.append((time.process_time() - begun) / (rounds * 2 * repeats) * 1e6)
    return costs[0], costs[1]


def measure(work: Callable[[Path], Awaitable[float]]) -> float:
    """Return what ``work`` measures in a folder and a loop of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_await(work(Path(folder))))


async def _await(work: Awaitable[float]) -> float:
    return await work


def main() -> None:
    """Print medians of interleaved rounds, and ratios within each round."""
    logging.disable(logging.WARNING)
    rows = []
    for _ in range(ROUNDS):
        base = measure(bare)
        rows.append(
            (
                base,
                measure(lambda folder: ours(folder, "normal")),
                measure(lambda folder: ours(folder, "auto")),
            )
        )
    for name, column in (("bare insert and read", 0), ("a step, NORMAL", 1), ("a step, FULL", 2)):
        median = statistics.median(row[column] for row in rows)
        ratio = statistics.median(row[column] / row[0] for row in rows)
        sys.stdout.write(f"{name:<24}{median:8.1f} µs CPU  {ratio:5.2f} x bare\n")
    with tempfile.TemporaryDirectory() as folder:
        short, long = asyncio.run(growth(Path(folder)))
    sys.stdout.write(
        f"a step at 20 / 1,000 steps of a run: {short:.1f} / {long:.1f} µs, {long / short:.2f} x\n"
    )


if __name__ == "__main__":
    main()
