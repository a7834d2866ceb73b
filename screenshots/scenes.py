"""The scenes behind README's pictures; the snapshot tests play the same ones."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from core import CancelLevel, RunRequest
from core.errors import ProviderError
from core.model import AuditAction, Usage
from core.store.sqlite._driver import connect
from playground.screens.audit import AuditScreen
from playground.screens.runs import RunsScreen
from playground.widgets.audit_pane import AuditPane
from playground.widgets.runs_table import RunsTable
from tests.fakes.provider import ScriptedProvider, Turn
from tests.playground.audit_app import day
from tests.playground.stage import StagedApp
from tests.support.runtime import open_store
from tests.support.waiting import until

WIDE, NORMAL, NARROW = (120, 36), (80, 24), (60, 20)
PICTURE = (112, 28)

PROMPT = "Compare today's weather in Oslo and Bergen, then explain why they differ."
ANSWER = """Oslo has -4 °C and an overcast sky; Bergen has 6 °C and snow.

Bergen lies on the open coast. Westerly winds arrive there straight from the Atlantic, \
are lifted by the mountains behind the town and drop their water at once: about 200 days \
of rain or snow in a year. The same sea keeps its winters mild.

Oslo lies behind those mountains, at the end of a long fjord. What reaches it has already \
lost most of its water, and away from the sea the air cools faster"""


@dataclass(frozen=True, slots=True)
class Scene:
    """One state of the app.

    Attributes:
        name: of the picture's file.
        size: columns and rows.
        build: makes the app, given an empty folder.
        play: brings the app into the state.
    """

    name: str
    size: tuple[int, int]
    build: Callable[[Path], Stage]
    play: Callable[[Stage, Pilot[None]], Awaitable[object]] = field(repr=False)


class Stage(StagedApp):
    """An app with one scripted model, and what the scenes do on it."""

    def __init__(self, path: Path, *, rows: int = 0) -> None:
        self.model = ScriptedProvider(
            [
                Turn(
                    text="I need both readings first.",
                    calls=[
                        ("get_weather", '{"city": "Oslo"}'),
                        ("get_weather", '{"city": "Bergen"}'),
                    ],
                    usage=Usage(1, 412, 58, 0.0009),
                    hold=True,
                ),
                Turn(
                    text=ANSWER,
                    pieces=re.findall(r"\S+\s*", ANSWER),
                    hold=True,
                    usage=Usage(1, 655, 140),
                ),
            ]
        )
        self.held = ScriptedProvider([Turn(text="Brakes turn", hold=True)], loop=True)
        broken = ScriptedProvider(
            [Turn(error=ProviderError("The key was not accepted.", failure_class="auth"))]
        )
        self._rows = rows
        super().__init__(path, {"atlas-2": self.model, "held": self.held, "broken": broken})

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Open the runtime on a log that has rows already, with the same macs every time."""
        database = self._path / "playground.db"
        await (await open_store(database, self.time)).close()
        with closing(connect(database)) as connection:
            connection.execute("UPDATE meta SET value = 'pictures' WHERE name = 'database_id'")
        store = await open_store(database, self.time)
        await asyncio.gather(*(store.append_audit(entry) for entry in day(self._rows)))
        await store.close()
        async with super().open():
            yield

    async def start_run(self, pilot: Pilot[None]) -> str:
        """Start a run from the form and stop time in the middle of its second answer."""
        await self.start(pilot, PROMPT, "atlas-2")
        await until(self.model.holding.is_set)
        self.time.advance(1.3)
        self.model.release()
        await until(lambda: len(self.model.requests) == 2 and self.model.holding.is_set())
        self.time.advance(3.1)
        await until(lambda: "cools faster" in self.answer())
        self.run_screen._tick()
        return self.view.run_id

    def answer(self) -> str:
        """Return the end of what has streamed to the screen."""
        return self.view.rows[-1].text.tail


async def hold_still(pilot: Pilot[None]) -> None:
    """Stop every cursor from blinking, and let everything be drawn."""
    for widget in pilot.app.screen.query("Input, TextArea"):
        if isinstance(widget, Input | TextArea):
            widget.cursor_blink = False
    await pilot.pause()


async def streaming(app: Stage, pilot: Pilot[None]) -> None:
    """A run in the middle of its answer."""
    await app.start_run(pilot)
    await hold_still(pilot)


async def cancelling(app: Stage, pilot: Pilot[None]) -> None:
    """The same run, told to stop at the next boundary."""
    await app.start_run(pilot)
    await pilot.press("f8")
    await until(lambda: app.view.cancel_by, "the cancel to be acknowledged")
    app.time.advance(4.2)
    app.run_screen._tick()
    await hold_still(pilot)


async def beside_run(app: Stage, pilot: Pilot[None]) -> None:
    """The audit pane open beside a run."""
    await app.start_run(pilot)
    await pilot.press("a")
    await until(lambda: app.screen.query(AuditPane))
    await at_rest(app.screen.query_one(AuditPane))
    await hold_still(pilot)


async def audit(app: Stage, pilot: Pilot[None]) -> AuditPane:
    """The audit screen as one comes to it."""
    await pilot.press("f3")
    await until(lambda: isinstance(app.screen, AuditScreen))
    pane = app.screen.query_one(AuditPane)
    await at_rest(pane)
    await hold_still(pilot)
    return pane


async def filtered(app: Stage, pilot: Pilot[None]) -> None:
    """The audit log narrowed to the calls that exposed a credential, and verified."""
    pane = await audit(app, pilot)
    pane.filter_by((AuditAction.HTTP_CALL_CANCELLED,))
    await until(lambda: pane.idle and pane.table.row_count == pane.counts[A])
    await pilot.press("v")
    await until(lambda: pane.has_class("-linked"))
    await hold_still(pilot)


async def detail(app: Stage, pilot: Pilot[None]) -> None:
    """One row of the audit log, whole."""
    pane = await audit(app, pilot)
    pane.filter_by((AuditAction.HTTP_CALL_CANCELLED,))
    await until(lambda: pane.idle and pane.table.row_count == pane.counts[A])
    await pilot.press("down", "enter")
    await until(lambda: pane.detail.row is not None)
    await hold_still(pilot)


async def runs(app: Stage, pilot: Pilot[None]) -> None:
    """A run in each state."""
    runtime = app.runtime
    await runtime.run(RunRequest(prompt="Say hello.", dry_run=True))
    app.time.advance(95)
    await runtime.run(RunRequest(prompt="Translate the changelog.", model="broken"))
    app.time.advance(48)
    stopped = await runtime.start(RunRequest(prompt="List every port in use.", model="held"))
    await until(app.held.holding.is_set)
    app.time.advance(1.5)
    await stopped.cancel(CancelLevel.ABORT, by="ada")
    await stopped.wait()
    app.time.advance(70)
    await runtime.start(RunRequest(prompt="Write an essay about brakes.", model="held"))
    await until(app.held.holding.is_set)
    app.time.advance(21)
    run_id = await app.start_run(pilot)
    await runtime.cancel(run_id, CancelLevel.BOUNDARY, by="ada")
    await no_runs(app, pilot)
    await until(lambda: app.screen.query_one(RunsTable).row_count == 5)
    await hold_still(pilot)


async def no_runs(app: Stage, pilot: Pilot[None]) -> None:
    """The runs screen as one comes to it."""
    await pilot.press("f4")
    await until(lambda: isinstance(app.screen, RunsScreen))
    await until(lambda: app.screen.has_class("-read"))
    await hold_still(pilot)


async def at_rest(pane: AuditPane) -> None:
    """Wait until all that is in view has been read."""
    await until(lambda: pane.is_mounted and pane.idle, "the pane to come to rest")


A = AuditAction.HTTP_CALL_CANCELLED

PICTURES = (
    Scene("run-streaming", PICTURE, Stage, streaming),
    Scene("run-cancelling", PICTURE, Stage, cancelling),
    Scene("audit-filtered", PICTURE, lambda path: Stage(path, rows=1_204), filtered),
)
