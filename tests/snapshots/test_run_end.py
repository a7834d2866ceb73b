from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from core.errors import ProviderError
from playground.screens.help import HelpScreen
from playground.screens.quit import QuitScreen
from playground.state.document import Tab
from playground.state.run import Phase
from playground.widgets.inspector import Inspector
from tests.fakes.provider import ScriptedProvider, Turn
from tests.playground.stage import StagedApp, held, weather
from tests.snapshots.conftest import SIZES, Snap, name
from tests.support.waiting import until


@pytest.mark.parametrize("size", SIZES, ids=name)
def test_completed(snap: Snap, tmp_path: Path, size: tuple[int, int]) -> None:
    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await app.start(pilot)
        await app.ended(pilot)
        assert app.view.phase is Phase.COMPLETED

    snap(StagedApp(tmp_path, {"scripted": weather()}), act, size)


@pytest.mark.parametrize("size", SIZES[1:], ids=name)
def test_failed_says_why(snap: Snap, tmp_path: Path, size: tuple[int, int]) -> None:
    error = ProviderError("The server refused the credential.", failure_class="auth")

    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await app.start(pilot)
        await app.ended(pilot)
        assert app.view.phase is Phase.FAILED
        assert app.view.error is not None
        assert app.view.error.code == "auth"

    snap(StagedApp(tmp_path, {"scripted": ScriptedProvider([Turn(error=error)])}), act, size)


def test_the_inspector_shows_what_a_tool_was_asked(snap: Snap, tmp_path: Path) -> None:
    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await app.start(pilot)
        await app.ended(pilot)
        await pilot.press("home", "down", "down")
        app.shown.query_one(Inspector).pick(Tab.ARGUMENTS)
        assert '"city": "Bergen"' in app.shown.query_one(Inspector).body.text

    snap(StagedApp(tmp_path, {"scripted": weather()}), act, (120, 36))


@pytest.mark.parametrize("size", SIZES, ids=name)
def test_help(snap: Snap, tmp_path: Path, size: tuple[int, int]) -> None:
    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await pilot.press("f1")
        await pilot.pause()
        assert app.on(HelpScreen)

    snap(StagedApp(tmp_path), act, size)


def test_quit_asks_while_a_run_is_live(snap: Snap, tmp_path: Path) -> None:
    model = held()

    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await app.start(pilot)
        await until(model.holding.is_set)
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert app.on(QuitScreen)

    snap(StagedApp(tmp_path, {"scripted": model}), act)
