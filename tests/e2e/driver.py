"""A process that drives runs: ``python -P -m tests.e2e.driver COMMAND ARGUMENT...``.

Each line on stdout says what somebody was told: what it says must outlive the process.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from core import CancelLevel, Run, RunRequest, Runtime, open_runtime
from core.model import Response, Tool
from tests.e2e.cli_process import ROOT, environment

SCENES = ("weather", "parallel", "loop", "flaky", "thinking", "malformed")


class Driver:
    """A child that drives runs, with the lines it has said so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._news = asyncio.Condition()
        self.lines: list[list[str]] = []
        self._reading = asyncio.create_task(self._read())

    async def said(self, number: int, word: str = "") -> list[list[str]]:
        """Wait for that many lines that begin with ``word``; return all of them."""
        async with asyncio.timeout(30), self._news:
            await self._news.wait_for(
                lambda: len(self.about(word)) >= number or self._reading.done()
            )
        return self.about(word)

    def about(self, word: str) -> list[list[str]]:
        """Return the lines so far that begin with ``word``, without it."""
        return [line[1:] if word else line for line in self.lines if not word or line[0] == word]

    def kill(self) -> None:
        self._process.kill()

    async def end(self) -> int:
        """Read all that it said; return its exit code."""
        await self._reading
        return await self._process.wait()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            # Killed in the middle of a line: nobody was told anything by it.
            if line.endswith(b"\n"):
                self.lines.append(line.decode().split())
            async with self._news:
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()


@asynccontextmanager
async def driver(folder: Path, url: str, *argv: str) -> AsyncIterator[Driver]:
    """Start a child on ``folder``'s database; it does not outlive the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "tests.e2e.driver", *argv),
        cwd=ROOT,
        env=environment(folder, PLAYGROUND_DEMO_URL=url),
        stdout=asyncio.subprocess.PIPE,
    )
    child = Driver(process)
    try:
        yield child
    finally:
        if process.returncode is None:
            process.kill()
        await child.end()


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def tell(run: Run) -> None:
    """Follow a run and say all that a follower gets to know."""
    async with run.events() as events:
        async for event in events:
            if event.seq is None:
                continue
            say("event", run.id, event.seq)
            if isinstance(event, Response | Tool):
                for call_id in event.call_ids:
                    say("call", call_id)
    say("end", run.id, (await run.wait()).status)


async def drive(runtime: Runtime, scene: str, number: str) -> None:
    """Drive so many runs of one scene side by side."""
    request = RunRequest(prompt="Lisbon?", model=f"demo/{scene}", max_rounds=10_000)
    runs = [await runtime.start(request) for _ in range(int(number))]
    for run in runs:
        say("run", run.id)
    await asyncio.gather(*(tell(run) for run in runs))


async def spree(runtime: Runtime, seed: str, number: str) -> None:
    """Drive runs of all scenes for ever, so many side by side, and cancel some."""
    dice = random.Random(seed)

    async def one_after_another() -> None:
        while True:
            scene = dice.choice(SCENES)
            request = RunRequest(prompt="Lisbon?", model=f"demo/{scene}", max_rounds=3)
            run = await runtime.start(request)
            say("run", run.id)
            telling = asyncio.create_task(tell(run))
            while dice.random() < 0.3:
                await asyncio.sleep(dice.random() * 0.05)
                receipt = await run.cancel(dice.choice(list(CancelLevel)))
                if receipt.changed and receipt.durable:
                    say("cancelled", run.id)
            await telling

    await asyncio.gather(*(one_after_another() for _ in range(int(number))))


async def main(argv: Sequence[str]) -> None:
    async with open_runtime(os.environ["PLAYGROUND_DB"]) as runtime:
        await {"drive": drive, "spree": spree}[argv[0]](runtime, *argv[1:])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
