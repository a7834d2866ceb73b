from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import SelectionList

from core import tool
from core.model import CancelLevel
from playground.state.run import Phase
from tests.fakes.provider import ScriptedProvider, Turn
from tests.playground.stage import StagedApp, held
from tests.snapshots.conftest import SIZES, Snap, name
from tests.support.waiting import until


@pytest.mark.parametrize("size", SIZES, ids=name)
def test_cancelling_says_what_it_waits_for_and_what_the_next_press_does(
    snap: Snap, tmp_path: Path, size: tuple[int, int]
) -> None:
    model = held()

    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await app.start(pilot)
        await until(model.holding.is_set)
        app.time.advance(2.0)
        await app.pressed(pilot, "escape")
        await until(lambda: app.view.cancel_by)
        app.time.advance(4.2)
        app.shown._tick()
        assert app.button.says == "cancelling · after model call · 4.2 s · press again to abort"

    snap(StagedApp(tmp_path, {"scripted": model}), act, size)


@pytest.mark.parametrize("size", SIZES[1:], ids=name)
def test_aborting_waits_only_for_what_must_not_be_cut(
    snap: Snap, tmp_path: Path, size: tuple[int, int]
) -> None:
    writing, written = asyncio.Event(), asyncio.Event()

    @tool(effect="unsafe")
    async def write_note(text: str) -> str:
        """Write a note."""
        writing.set()
        await written.wait()
        return "written"

    model = ScriptedProvider([Turn(calls=[("write_note", '{"text": "rain"}')])])

    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await app.shown.form.open_options(True)
        app.shown.query_one("#tools", SelectionList).select("write_note")
        await app.start(pilot)
        await until(writing.is_set)
        await app.pressed(pilot, "escape")
        app.wait_shown()
        await app.pressed(pilot, "escape")
        await until(lambda: app.view.rows[-1].name and app.view.level is CancelLevel.ABORT)
        app.time.advance(1.1)
        app.shown._tick()
        assert app.view.phase is Phase.ABORTING
        assert app.button.says == "aborting · write_note · 1.1 s"

    app = StagedApp(tmp_path, {"scripted": model}, tools=[write_note], leaving=written.set)
    snap(app, act, size)


@pytest.mark.parametrize("size", SIZES, ids=name)
def test_cancelled_shows_the_receipt(snap: Snap, tmp_path: Path, size: tuple[int, int]) -> None:
    model = held("It is 8 °C in Bergen, ", "with rain")

    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await app.start(pilot)
        await until(model.holding.is_set)
        app.time.advance(2.0)
        await app.pressed(pilot, "escape")
        await until(lambda: app.view.cancel_by)
        app.wait_shown(1.3)
        await app.pressed(pilot, "escape")
        await app.ended(pilot)
        assert app.view.phase is Phase.CANCELLED
        assert app.view.receipt is not None
        assert app.view.receipt.usage_after_request.requests == 0

    snap(StagedApp(tmp_path, {"scripted": model}), act, size)
