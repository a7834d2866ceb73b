"""Starting: ``import core``, and from nothing to the first durable step.

Run it with ``python -m tests.bench.start``. Each figure is the CPU time of a process of its
own, less that of an interpreter that does nothing; rounds are interleaved, medians are
printed. DBOS is measured where it is installed (the dependency group ``peers``).
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 7
ROOT = Path(__file__).parents[2]

_OURS = """
import asyncio, sys
from core.clock import SystemClock
from core.model import Request, Response, RunRequest
from core.runtime import open_runtime

async def main():
    async with open_runtime(sys.argv[1]) as runtime:
        run = await runtime.start(RunRequest(prompt="x", model="demo/thinking"))
        async with run.events() as events:
            async for event in events:
                if isinstance(event, Request) and event.seq is not None:
                    break
        await run.cancel(2)
        await run.wait()

asyncio.run(main())
"""
_STORE = """
import asyncio, sys
from pathlib import Path
from core.store import open_sqlite
from tests.core.store.builders import begin, model_step, seal

async def main():
    store = await open_sqlite(Path(sys.argv[1]), seal=seal)
    await begin(store)
    await store.close()

asyncio.run(main())
"""
_DBOS = """
import sys
from dbos import DBOS

DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{sys.argv[1]}",
             "log_level": "ERROR", "run_admin_server": False})

@DBOS.step()
def step():
    return 1

@DBOS.workflow()
def flow():
    return step()

DBOS.launch()
assert flow() == 1
DBOS.destroy()
"""
_BARE = """
import asyncio, sys
import aiosqlite

async def main():
    async with aiosqlite.connect(sys.argv[1]) as db:
        await db.execute("PRAGMA journal_mode = WAL")
        await db.execute("CREATE TABLE step (id INTEGER PRIMARY KEY, body TEXT)")
        await db.execute("INSERT INTO step (body) VALUES ('x')")
        await db.commit()

asyncio.run(main())
"""
PROGRAMS = {
    "an interpreter": "pass",
    "import aiosqlite": "import aiosqlite",
    "import core": "import core",
    "aiosqlite, first insert": _BARE,
    "core.store, first durable step": _STORE,
    "core, first durable step of a run": _OURS,
}
if importlib.util.find_spec("dbos") is not None:
    PROGRAMS |= {"import dbos": "import dbos", "dbos, first durable step": _DBOS}


@dataclass(frozen=True)
class Cost:
    """What a process cost: CPU seconds, and its peak size in MB."""

    cpu_s: float
    rss_mb: float


def measure(program: str, folder: Path, number: int) -> Cost:
    environment = {
        **os.environ,
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "PLAYGROUND_DEMO_PACE": "0",
    }
    database = str(folder / f"{number}.db")
    process = subprocess.Popen(
        [sys.executable, "-c", program, database], env=environment, cwd=folder
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode} of:\n{program}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    costs: dict[str, list[Cost]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            for place, (name, program) in enumerate(PROGRAMS.items()):
                costs[name].append(measure(program, Path(folder), number * 100 + place))
    cpu = {name: statistics.median(cost.cpu_s for cost in found) for name, found in costs.items()}
    floor = cpu["an interpreter"]
    for name, found in costs.items():
        rss = statistics.median(cost.rss_mb for cost in found)
        print(f"{name:36} {(cpu[name] - floor) * 1000:8.1f} ms CPU  {rss:6.1f} MB")

    def ratio(one: str, other: str, bar: str) -> None:
        if one in cpu and other in cpu:
            found = (cpu[one] - floor) / (cpu[other] - floor)
            print(f"{one} / {other}: {found:.2f} (bar {bar})")

    ratio("import core", "import aiosqlite", "1.5")
    ratio("import core", "import dbos", "0.20")
    ratio("core, first durable step of a run", "dbos, first durable step", "0.25")
    ratio("core.store, first durable step", "aiosqlite, first insert", "none")


if __name__ == "__main__":
    main()
