"""The app's latency under load and its start, beside raw Textual in the same run.

``python -m tests.bench.ui`` prints ratios; it asserts nothing but counts.
"""

from __future__ import annotations

import asyncio
import os
import pty
import select
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Label

from playground.adapter import Batcher, RunSession
from playground.opening import settle_heap
from tests.e2e.app_terminal import app_environment
from tests.playground.events import Script
from tests.playground.stage import StagedApp, staged

ROUNDS = 5
KEYS = 60
RATE = 2_000

_EMPTY = """
from textual.app import App
from textual.widgets import Label
class Empty(App):
    def compose(self):
        yield Label("stepbrake")
Empty().run()
"""


class Floor(App[None]):
    """What a key costs under a pilot where there is nothing to do."""

    def compose(self) -> ComposeResult:
        yield Label("nothing")


async def _pilot_floor() -> list[float]:
    """Return what a pilot's key press costs, in milliseconds."""
    async with Floor().run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        took = []
        for _ in range(KEYS):
            begun = time.perf_counter()
            await pilot.press("down")
            took.append((time.perf_counter() - begun) * 1_000)
        return took


async def _key(app: StagedApp, key: str) -> float:
    """Return milliseconds from a key's arrival until the screen shows the row it went to.

    A pilot cannot tell under load: it waits for a process that rests.
    """
    steps = app.run_screen.steps
    before, painted = steps.selected, asyncio.Event()
    display = app._display

    def seen(*what: Any) -> None:
        display(*what)
        if steps.selected != before:
            painted.set()

    app._display = seen  # type: ignore[method-assign, assignment]
    begun = time.perf_counter()
    app.post_message(events.Key(key, None))
    await painted.wait()
    app._display = display  # type: ignore[method-assign]
    return (time.perf_counter() - begun) * 1_000


async def _keys(app: StagedApp) -> list[float]:
    took = []
    for number in range(KEYS):
        took.append(await _key(app, "down" if number % 2 else "up"))
        await asyncio.sleep(0.05)
    return took


async def _stream(batcher: Batcher, stop: asyncio.Event) -> int:
    script, loop = Script(), asyncio.get_running_loop()
    begun, sent, offset = loop.time(), 0, 0
    while not stop.is_set():
        while sent < (loop.time() - begun) * RATE:
            piece = f"word{sent % 97} " if sent % 40 else "end of a paragraph.\n\n"
            batcher.put(script.delta(piece, offset))
            sent, offset = sent + 1, offset + len(piece)
        await asyncio.sleep(0.001)
    return sent


def _session(app: StagedApp) -> RunSession:
    """A session on the screen whose events come from here and not from a runtime."""
    screen = app.run_screen
    session = screen._open()
    script = Script()
    session._take([script.started(), script.assembled(), script.request()])
    screen._show_all()
    screen.steps.focus()
    return session


async def _latencies() -> tuple[list[float], list[float], float, float]:
    """Return keys at rest and under load, the load in deltas a second, the share of one core."""
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder), size=(120, 36)) as (app, pilot):
            session, stop = _session(app), asyncio.Event()
            await pilot.pause()
            settle_heap()
            rest = await _keys(app)
            batcher = Batcher(session._take)
            load = asyncio.create_task(_stream(batcher, stop))
            begun, used = time.perf_counter(), time.process_time()
            loaded = await _keys(app)
            share = (time.process_time() - used) / (time.perf_counter() - begun)
            took = time.perf_counter() - begun
            stop.set()
            sent = await load
            batcher.flush()
            assert session.view.rows[1].text.total > 0
            return rest, loaded, sent / took, share


def _paint(command: list[str], text: bytes) -> float:
    """Return milliseconds from exec until a terminal was sent this text."""
    with tempfile.TemporaryDirectory() as folder:
        variables = app_environment(Path(folder), 0.0)
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        begun = time.perf_counter()
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execve(command[0], command, variables)
        seen = b""
        while text not in seen:
            if select.select([terminal], [], [], 10)[0]:
                seen += os.read(terminal, 65_536)
        took = (time.perf_counter() - begun) * 1_000
        os.write(terminal, b"\x11")
        try:
            while os.read(terminal, 65_536):
                pass
        except OSError:
            pass
        os.waitpid(pid, 0)
        os.close(terminal)
        return took


def _p(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main() -> None:
    """Run interleaved rounds and print medians."""
    floors: list[float] = []
    rests: list[float] = []
    keys: list[float] = []
    rates: list[float] = []
    shares: list[float] = []
    for _ in range(ROUNDS):
        floors += asyncio.run(_pilot_floor())
        rest, loaded, rate, share = asyncio.run(_latencies())
        rests += rest
        keys += loaded
        rates.append(rate)
        shares.append(share)
    for name, values in (
        ("a pilot's press, empty app", floors),
        ("key to paint, at rest", rests),
        (f"key to paint, {statistics.median(rates):.0f} deltas/s", keys),
    ):
        print(f"{name:32} p50 {_p(values, 0.5):6.1f} ms   p95 {_p(values, 0.95):6.1f} ms")
    for name, values in (("pilot's floor", floors), ("same key at rest", rests)):
        above = _p(keys, 0.95) - _p(values, 0.95)
        print(f"p95 above {name:22} {above:6.1f} ms   (bar: 50 ms)")
    print(f"share of one core under load     {statistics.median(shares):6.2f}")
    app = [sys.executable, "-m", "playground"]
    starts: dict[str, list[float]] = {"empty": [], "first": [], "usable": []}
    for _ in range(ROUNDS + 1):
        starts["empty"].append(_paint([sys.executable, "-c", _EMPTY], b"stepbrake"))
        starts["first"].append(_paint(app, b"stepbrake"))
        starts["usable"].append(_paint(app, b"hat should the agent do?"))
    # The first start of each compiles what it imports.
    empty, first, usable = (statistics.median(times[1:]) for times in starts.values())
    print(f"empty Textual app, first paint   {empty:6.0f} ms")
    print(f"playground, first paint          {first:6.0f} ms   {first / empty:.2f}x (bar: 1.5)")
    print(f"playground, prompt ready         {usable:6.0f} ms   {usable / empty:.2f}x")


if __name__ == "__main__":
    main()
