from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Select

from tests.playground.stage import StagedApp, weather
from tests.snapshots.conftest import SIZES, Snap, name


@pytest.mark.parametrize("size", SIZES, ids=name)
def test_empty_says_how_to_run_and_how_to_cancel(
    snap: Snap, tmp_path: Path, size: tuple[int, int]
) -> None:
    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        assert app.shown.view is None
        assert app.button.disabled

    snap(StagedApp(tmp_path, {"scripted": weather()}), act, size)


@pytest.mark.parametrize("size", SIZES, ids=name)
def test_form_filled(snap: Snap, tmp_path: Path, size: tuple[int, int]) -> None:
    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        app.fill("What is the weather in Bergen?\nAnd in Oslo?")
        await pilot.press("ctrl+o")
        await pilot.pause()
        app.shown.query_one("#max-rounds", Input).value = "4"
        app.shown.query_one("#thinking", Select).value = "on"
        assert app.shown.form.data.max_rounds == "4"

    snap(StagedApp(tmp_path, {"scripted": weather()}), act, size)


@pytest.mark.parametrize("size", SIZES[1:], ids=name)
def test_a_prompt_that_is_missing_is_asked_for(
    snap: Snap, tmp_path: Path, size: tuple[int, int]
) -> None:
    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        assert app.shown.view is None

    snap(StagedApp(tmp_path, {"scripted": weather()}), act, size)
