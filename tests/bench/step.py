"""A durable step in the store: outcome, fence, probe and next intent in one commit.

Run it with ``python -m tests.bench.step [--big] [FOLDER]``. The baseline is a bare insert and
a bare read through aiosqlite on the same driver (execute, commit, execute, fetchone, close).
Rounds are interleaved, medians are printed; CPU is that of the whole process. ``--big`` also
measures a million events.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiosqlite

from core.store import Claim, Commit, SqliteStore, open_sqlite
from core.store.sqlite import driver_note
from core.store.sqlite._driver import connect
from tests.core.store.builders import begin, model_step, request, response, row, seal, started

ROUNDS = 5
STEPS = 600


@dataclass(frozen=True)
class Figure:
    """What a step cost, and how many there were in a second."""

    cpu_us: float
    wall_us: float

    @property
    def rate(self) -> float:
        return 1e6 / self.wall_us


async def measured(steps: int, work: Callable[[], Awaitable[object]]) -> Figure:
    cpu, began = time.process_time(), time.perf_counter()
    await work()
    wall = time.perf_counter() - began
    return Figure((time.process_time() - cpu) / steps * 1e6, wall / steps * 1e6)


async def bare(path: Path, *, hops: int) -> Figure:
    """Insert a row of a step's size and read it back, in five hops to the thread or in two."""
    database = await aiosqlite.Connection(lambda: connect(path, options="mode=rwc"), 64)
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL"):
        await database.execute_fetchall(f"PRAGMA {pragma}")
    await database.execute_fetchall(
        "CREATE TABLE step (run TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run, seq))"
    )
    insert = "INSERT INTO step VALUES ('run', ?, ?)"
    select = "SELECT seq, body FROM step WHERE run = 'run' AND seq = ?"
    body = "x" * 700

    async def five() -> None:
        for number in range(STEPS):
            await database.execute(insert, (number, body))
            await database.commit()
            async with database.execute(select, (number,)) as cursor:
                await cursor.fetchone()

    async def two() -> None:
        for number in range(STEPS):
            await database.execute_fetchall(insert, (number, body))
            await database.execute_fetchall(select, (number,))

    figure = await measured(STEPS, five if hops == 5 else two)
    await database.close()
    return figure


async def ours(path: Path, runs: int, *, synchronous: str, steps: int = STEPS) -> Figure:
    """Drive ``runs`` runs side by side, ``steps`` steps in all."""
    store = await _open(path, synchronous)
    claims = [await begin(store, f"{path.stem}-{number}") for number in range(runs)]

    async def work() -> None:
        await asyncio.gather(*(drive(store, claim, 0, steps // runs) for claim in claims))

    figure = await measured(steps // runs * runs, work)
    await store.close()
    return figure


async def _open(path: Path, synchronous: str) -> SqliteStore:
    return await open_sqlite(
        path, seal=seal, synchronous="full" if synchronous == "full" else "normal"
    )


async def drive(store: SqliteStore, claim: Claim, first: int, steps: int) -> None:
    """Take the steps ``first`` and on of a run."""
    run = claim.run_id
    for number in range(first, first + steps):
        await store.commit(
            Commit(
                claim=claim,
                outcomes=(response(f"s{number - 1}", run, text="word " * 60),) if number else (),
                intents=(request(f"s{number}", run),),
                opened_steps=(model_step(f"s{number}"),),
                round=number,
            )
        )


async def growth_in_a_run(path: Path) -> tuple[float, float]:
    """Return the CPU of a step in the first 20 and after 1,000 steps of a run."""
    store = await _open(path, "normal")
    early: list[float] = []
    late: list[float] = []
    for number in range(12):
        claim = await begin(store, f"early-{number}")
        early.append((await measured(20, partial(drive, store, claim, 0, 20))).cpu_us)
    claim = await begin(store, "late")
    await drive(store, claim, 0, 1000)
    for number in range(12):
        first = 1000 + number * 20
        late.append((await measured(20, partial(drive, store, claim, first, 20))).cpu_us)
    await store.close()
    return statistics.median(early), statistics.median(late)


async def growth_of_the_table(path: Path, events: int) -> float:
    """Return the CPU of a step beside ``events`` other events."""
    store = await _open(path, "normal")
    claim = await begin(store, "template")
    await drive(store, claim, 0, 500)
    await store.close()
    connection = connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN")
    for number in range(events // 1000):
        connection.execute(
            "INSERT INTO run SELECT ?1 || run_id, status, termination_reason, model, prompt,"
            " created_us, updated_us, closed_us, end_seq, owner, claim, next_seq, round,"
            " tool_calls, requests, input_tokens, output_tokens, cost_usd, estimated, open_steps,"
            " cancel_us, cancel_by, cancel_reason, level, cancel_seq FROM run"
            " WHERE run_id = 'template'",
            (f"{number:06}",),
        )
        connection.execute(
            "INSERT INTO event (run_id, seq, kind, at_us, round, step, body, body_ref)"
            " SELECT ?1 || run_id, seq, kind, at_us, round, step, body, body_ref FROM event"
            " WHERE run_id = 'template'",
            (f"{number:06}",),
        )
    connection.execute("COMMIT")
    connection.close()
    store = await _open(path, "normal")
    figures: list[float] = []
    for number in range(30):
        claim = await store.create_run(row(f"x{number}"), started(f"x{number}"))
        figures.append((await measured(40, partial(drive, store, claim, 0, 40))).cpu_us)
    await store.close()
    return statistics.median(figures)


def syncs(folder: Path, runs: int, steps: int) -> float | None:
    """Return how many syncs a durable step makes, as the kernel sees it."""
    if shutil.which("strace") is None:
        return None
    few, many = (traced(folder, runs, count) for count in (steps, 3 * steps))
    return (many - few) / (2 * steps)


def traced(folder: Path, runs: int, steps: int) -> int:
    """Return the syncs of a process that takes ``steps`` steps."""
    code = (
        "import asyncio, sys; from pathlib import Path; from tests.bench import step;"
        f"asyncio.run(step.ours(Path(sys.argv[1]), {runs}, synchronous='full', steps={steps}))"
    )
    trace = folder / f"trace-{runs}-{steps}"
    database = folder / f"traced-{runs}-{steps}.db"
    strace = ["strace", "-f", "-o", str(trace), "-e", "trace=fsync,fdatasync"]
    subprocess.run([*strace, sys.executable, "-c", code, str(database)], check=True)
    return len(re.findall(r"\bf(?:data)?sync\(", trace.read_text()))


def main(folder: Path, *, big: bool) -> None:
    print(driver_note())
    kinds: dict[str, Callable[[Path], Coroutine[Any, Any, Figure]]] = {
        "bare insert and read, NORMAL": partial(bare, hops=5),
        "the same in two hops": partial(bare, hops=2),
        "1 run, NORMAL": lambda path: ours(path, 1, synchronous="normal"),
        "1 run, FULL": lambda path: ours(path, 1, synchronous="full"),
        "100 runs, NORMAL": lambda path: ours(path, 100, synchronous="normal", steps=4000),
        "100 runs, FULL": lambda path: ours(path, 100, synchronous="full", steps=4000),
    }
    figures: dict[str, list[Figure]] = {name: [] for name in kinds}
    for number in range(ROUNDS):
        for name, run in kinds.items():
            path = folder / f"{number}-{len(figures[name])}-{abs(hash(name))}.db"
            figures[name].append(asyncio.run(run(path)))
    base = figures["bare insert and read, NORMAL"]
    for name, found in figures.items():
        ratio = statistics.median(f.cpu_us / b.cpu_us for f, b in zip(found, base, strict=True))
        cpu = statistics.median(figure.cpu_us for figure in found)
        rate = statistics.median(figure.rate for figure in found)
        print(f"{name:30} CPU {cpu:7.1f} us   {rate:9,.0f} steps/s   CPU x{ratio:.2f} of bare")
    print("bar: 1 run, NORMAL: x2.5 of bare")
    for runs, steps in ((1, 400), (100, 5_000)):
        count = syncs(folder, runs, steps)
        said = "not counted: strace is missing" if count is None else f"{count:.3f}"
        print(f"syncs a step, FULL, {runs} runs: {said} (bar {1 if runs == 1 else 0.05})")
    grown = [asyncio.run(growth_in_a_run(folder / f"grown-{n}.db")) for n in range(3)]
    print(f"step 1,000 over step 20, CPU: {statistics.median(b / a for a, b in grown):.2f} (1.2)")
    if big:
        small = asyncio.run(growth_of_the_table(folder / "small.db", 1_000))
        large = asyncio.run(growth_of_the_table(folder / "large.db", 1_000_000))
        print(f"10^6 events over 10^3, CPU of a step: {large / small:.2f} (bar 1.15)")


if __name__ == "__main__":
    places = [word for word in sys.argv[1:] if word != "--big"]
    with tempfile.TemporaryDirectory(dir=places[0] if places else None) as name:
        main(Path(name), big="--big" in sys.argv)
