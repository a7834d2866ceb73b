from __future__ import annotations

from pathlib import Path

from textual.widgets import Button

from core.model import CancelLevel
from playground.screens.quit import QuitScreen
from playground.screens.run import RunScreen
from playground.widgets.audit_pane import AuditPane
from playground.widgets.key_bar import KeyBar
from tests.playground.stage import StagedApp, held, staged, weather
from tests.support.waiting import until


def _said(app: StagedApp) -> list[str]:
    return [notice.message for notice in app._notifications]


async def test_a_cancel_key_without_a_run_on_the_screen_says_where_the_live_one_is(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path, {"scripted": held()}, size=(120, 36)) as (app, pilot):
        await app.start(pilot)
        await pilot.press("ctrl+n")
        await until(lambda: app.shown.view is None)
        for key in ("f8", "f8", "ctrl+c"):
            await app.pressed(pilot, key)
        assert _said(app) == ["No live run is on the screen. F4 lists them; c cancels one there."]
        assert len(app.runtime.live) == 1


async def test_ctrl_c_with_nothing_live_says_how_to_quit_and_a_held_key_says_it_once(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        for _ in range(20):
            await pilot.press("ctrl+c")
        assert _said(app) == ["Nothing is live. Ctrl+Q quits."]
        app.time.advance(3)
        await app.pressed(pilot, "ctrl+c")
        assert len(_said(app)) == 2


async def test_no_screen_offers_to_cancel_when_nothing_is_live(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": held()}, size=(120, 36)) as (app, pilot):

        def offered() -> bool:
            return any(label == "Cancel" for _, label in app.screen.query_one(KeyBar).items())

        for key in ("f4", "f3", "f2"):
            await app.pressed(pilot, key)
            assert not offered()
        await app.start(pilot)
        await app.pressed(pilot, "f3")
        await until(lambda: not app.on(RunScreen) and offered(), "the offer to cancel")
        await app.pressed(pilot, "f8")
        await until(lambda: app.level() is CancelLevel.BOUNDARY, "the cancel")


async def test_the_question_before_leaving_keeps_up_with_what_is_live(tmp_path: Path) -> None:
    provider = held()
    async with staged(tmp_path, {"scripted": provider}) as (app, pilot):
        await app.start(pilot)
        await app.pressed(pilot, "ctrl+q")
        assert app.on(QuitScreen)
        assert str(app.screen.query_one("#leave", Button).label) == "Cancel and quit"
        provider.release()
        await app.ended(pilot)
        await until(lambda: str(app.screen.query_one("#leave", Button).label) == "Quit")
        assert "Nothing is live" in str(app.screen.query_one("#quit-question").render())


async def test_the_audit_pane_has_the_keys_it_names_as_soon_as_it_opens(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}, size=(120, 36)) as (app, pilot):
        await app.start(pilot)
        await app.ended(pilot)
        await app.pressed(pilot, "a")
        await app.pressed(pilot, "slash")
        assert app.shown.query_one(AuditPane).bar.has_focus
        await app.pressed(pilot, "escape")
        await app.pressed(pilot, "a")
        assert not app.shown.query(AuditPane)
        assert app.shown.steps.has_focus
