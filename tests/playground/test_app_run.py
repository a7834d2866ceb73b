from __future__ import annotations

from pathlib import Path

from textual.widgets import Button, Input, Select, SelectionList

from core.model import CancelLevel, StepOutcome
from playground.screens.help import HelpScreen
from playground.screens.quit import QuitScreen
from playground.screens.run import RunScreen
from playground.screens.runs import RunsScreen
from playground.state.run import Phase
from playground.state.steps import RowKind
from playground.widgets.inspector import Inspector
from playground.widgets.key_bar import KeyBar
from playground.widgets.step_list import StepList
from tests.fakes.provider import ScriptedProvider, Turn
from tests.playground.stage import ANSWER, PROMPT, held, staged, weather
from tests.support.waiting import until


async def test_enter_runs_the_prompt_and_every_step_is_shown(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        await app.start(pilot)
        await app.ended(pilot)
        assert [row.kind for row in app.view.rows] == [
            "assembled",
            "model",
            "tool",
            "model",
            "completed",
        ]
        assert app.view.phase is Phase.COMPLETED
        assert app.shown.query_one(StepList).row_count == 5
        assert ANSWER in app.shown.query_one(Inspector).body.text
        assert app.button.disabled
        assert isinstance(app.focused, StepList)


async def test_the_run_button_does_the_same(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        app.fill()
        await pilot.pause()
        await pilot.click("#run")
        await until(lambda: app.shown.view is not None)
        await app.ended(pilot)
        assert app.view.request["prompt"] == PROMPT


async def test_an_empty_prompt_starts_nothing_and_says_so(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        await pilot.press("enter")
        await pilot.pause()
        assert app.shown.view is None
        assert "write a prompt first" in str(app.shown.query_one("#form-note").render())
        assert app.runtime.live == ()


async def test_the_options_reach_the_run(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}, size=(120, 36)) as (app, pilot):
        app.fill()
        await app.pressed(pilot, "ctrl+o")
        app.shown.query_one("#tools", SelectionList).deselect("slow_count")
        app.shown.query_one("#max-rounds", Input).value = "3"
        app.shown.query_one("#temperature", Input).value = "warm"
        await app.pressed(pilot, "f5")
        assert app.shown.view is None
        assert app.focused is app.shown.query_one("#temperature")
        app.shown.query_one("#temperature", Input).value = "0.5"
        await app.pressed(pilot, "f5")
        await until(lambda: app.shown.view is not None)
        await app.ended(pilot)
        request = app.view.request
        assert (request["max_rounds"], request["temperature"]) == (3, 0.5)
        assert request["tools"] == ["get_weather", "http_get"]


async def test_an_unusable_request_is_explained_and_the_form_stays(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        app.fill()
        app.shown.query_one("#model", Select).set_options([("gone", "gone")])
        await pilot.press("enter")
        await until(lambda: len(app._notifications) > 0, "a notification")
        await pilot.pause()
        assert app.shown.view is None
        assert app.shown.form.prompt.text == PROMPT


async def test_one_press_cancels_at_the_boundary(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        app.time.advance(4.2)
        await app.pressed(pilot, "escape")
        await until(lambda: app.view.cancel_by, "the cancel to be recorded")
        assert app.view.phase is Phase.CANCELLING
        assert app.button.says.startswith("cancelling · after model call · ")
        assert app.button.says.endswith(" · press again to abort")
        assert app.runtime.live
        model.release()
        await app.ended(pilot)
        assert app.ended_as(Phase.CANCELLED)
        assert app.level() is CancelLevel.BOUNDARY
        assert app.view.rows[1].outcome is StepOutcome.OK
        assert app.view.receipt is not None
        assert app.view.receipt.usage_after_request.requests == 0


async def test_a_second_press_aborts_and_keeps_the_partial_answer(tmp_path: Path) -> None:
    model = held("It is 8 °C ", "in Bergen")
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        await app.pressed(pilot, "f8")
        app.wait_shown()
        await app.pressed(pilot, "ctrl+c")
        await app.ended(pilot)
        assert app.level() is CancelLevel.ABORT
        row = app.view.rows[1]
        assert row.outcome is StepOutcome.INTERRUPTED
        assert row.text.kept == "It is 8 °C in Bergen"


async def test_a_held_key_stays_at_the_boundary(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        for _ in range(30):
            await pilot.press("escape")
            app.time.advance(0.03)
        assert app.level() is CancelLevel.BOUNDARY
        assert app.is_running


async def test_the_cancel_button_is_the_same_command(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        await pilot.click("#cancel")
        await pilot.pause()
        assert app.level() is CancelLevel.BOUNDARY
        app.wait_shown()
        await pilot.click("#cancel")
        await app.ended(pilot)
        assert app.level() is CancelLevel.ABORT


async def test_a_press_before_the_run_exists_is_not_lost(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        app.fill()
        await pilot.pause()
        app.shown.action_start()
        app.shown.action_cancel()
        await app.ended(pilot)
        assert app.ended_as(Phase.CANCELLED)
        assert model.requests == []


async def test_cancel_keys_never_quit(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        for key in ("ctrl+c", "ctrl+c", "f8", "escape", "escape", "ctrl+c"):
            await pilot.press(key)
        assert app.is_running
        await app.start(pilot)
        await app.ended(pilot)
        for key in ("ctrl+c", "f8", "escape", "ctrl+c"):
            await pilot.press(key)
        assert app.is_running
        assert app.view.phase is Phase.COMPLETED


async def test_escape_in_a_field_leaves_it_and_cancels_only_outside(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        app.shown.form.prompt.focus()
        await app.pressed(pilot, "escape")
        assert app.level() is None
        assert isinstance(app.focused, StepList)
        await app.pressed(pilot, "escape")
        assert app.level() is CancelLevel.BOUNDARY


async def test_escape_in_a_dialog_only_closes_it(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        await app.pressed(pilot, "f1")
        assert app.on(HelpScreen)
        await app.pressed(pilot, "escape")
        assert app.on(RunScreen)
        assert app.level() is None


async def test_the_cancel_keys_work_from_the_other_screens_and_over_dialogs(
    tmp_path: Path,
) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        await app.pressed(pilot, "f3")
        await app.pressed(pilot, "f8")
        assert app.level() is CancelLevel.BOUNDARY
        app.wait_shown()
        await app.pressed(pilot, "f1")
        await app.pressed(pilot, "ctrl+c")
        await app.ended(pilot)
        assert app.level() is CancelLevel.ABORT


async def test_alt_and_a_key_is_escape_and_that_key_while_a_run_is_live(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        await pilot.press("alt+z")
        await pilot.pause()
        assert app.level() is CancelLevel.BOUNDARY
        assert app.shown.has_class("-zoom")


async def test_ctrl_c_copies_a_selection_before_it_cancels(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        app.shown.form.prompt.focus()
        app.shown.form.prompt.select_all()
        await app.pressed(pilot, "ctrl+c")
        assert app.clipboard == PROMPT
        assert app.level() is None
        app.shown.form.prompt.move_cursor((0, 0))
        await app.pressed(pilot, "ctrl+c")
        assert app.level() is CancelLevel.BOUNDARY


async def test_new_leaves_a_live_run_alone_and_the_list_finds_it_again(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        await app.pressed(pilot, "ctrl+n")
        assert app.shown.view is None
        assert len(app.runtime.live) == 1
        await app.pressed(pilot, "f4")
        screen = app.screen
        assert isinstance(screen, RunsScreen)
        await until(lambda: screen.table.row_count == 1, "the list of runs")
        await pilot.press("enter")
        await until(lambda: app.on(RunScreen) and app.shown.view is not None)
        await until(lambda: app.view.live_rows, "the run's stream")
        assert app.view.run_id == app.runtime.live[0]
        await app.pressed(pilot, "f8")
        assert app.level() is CancelLevel.BOUNDARY
        model.release()
        await app.ended(pilot)
        assert app.ended_as(Phase.CANCELLED)


async def test_the_cursor_follows_the_run_until_it_is_moved(tmp_path: Path) -> None:
    model = ScriptedProvider(
        [*(Turn(calls=[("get_weather", '{"city": "Bergen"}')]) for _ in range(3)), Turn(ANSWER)]
    )
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await app.ended(pilot)
        steps = app.shown.steps
        assert steps.selected == steps.row_count - 1
        await pilot.press("up", "up")
        assert not steps.follow
        await pilot.press("end")
        assert steps.follow


async def test_a_live_step_keeps_the_cursor_though_a_cancel_comes_after_it(
    tmp_path: Path,
) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        await app.pressed(pilot, "escape")
        await until(lambda: app.view.rows[-1].kind is RowKind.CANCEL)
        await pilot.pause()
        assert app.shown.steps.selected == 1
        assert ANSWER in app.shown.query_one(Inspector).body.text


async def test_brackets_walk_the_tabs_that_have_content(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        await app.start(pilot)
        await app.ended(pilot)
        await pilot.press("home", "down")
        strip = app.shown.query_one(Inspector).strip
        seen = []
        for _ in range(len(strip.present)):
            await app.pressed(pilot, "right_square_bracket")
            assert strip.active in strip.present
            seen.append(strip.active)
        assert set(seen) == strip.present


async def test_a_narrow_screen_shows_the_steps_and_enter_looks_inside(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}, size=(60, 20)) as (app, pilot):
        await app.start(pilot)
        await app.ended(pilot)
        inspector = app.shown.query_one(Inspector)
        assert not inspector.is_on_screen
        await app.pressed(pilot, "enter")
        assert inspector.is_on_screen
        assert not app.shown.steps.is_on_screen
        await app.pressed(pilot, "z")
        assert app.shown.steps.is_on_screen


async def test_quitting_without_a_live_run_just_quits(tmp_path: Path) -> None:
    async with staged(tmp_path) as (app, pilot):
        await pilot.press("ctrl+q")
        await until(lambda: not app.is_running, "the app to leave")
        assert app.return_code == 0


async def test_quitting_with_a_live_run_asks_and_staying_is_the_default(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        await app.pressed(pilot, "ctrl+q")
        assert app.on(QuitScreen)
        assert app.focused is app.screen.query_one("#stay", Button)
        await app.pressed(pilot, "enter")
        assert app.on(RunScreen)
        assert app.level() is None
        await app.pressed(pilot, "ctrl+q")
        await pilot.click("#leave")
        await until(lambda: not app.is_running, "the app to leave")


async def test_the_last_line_says_the_keys_that_work_now(tmp_path: Path) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        bar = app.shown.query_one(KeyBar)
        assert ("f8", "Cancel") not in bar.items()
        assert ("f5", "Run") in bar.items()
        await app.start(pilot)
        await until(model.holding.is_set)
        await pilot.pause()
        assert bar.items()[0] == ("f8", "Cancel")
        assert ("f5", "Run") not in bar.items()


async def test_the_audit_pane_opens_beside_the_run(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}, size=(120, 36)) as (app, pilot):
        await app.start(pilot)
        await app.ended(pilot)
        await app.pressed(pilot, "a")
        assert app.shown.query_one("#audit").is_on_screen
        assert app.shown.steps.is_on_screen
        await app.pressed(pilot, "a")
        assert not app.shown.query("#audit")


async def test_the_palette_runs_a_command(tmp_path: Path) -> None:
    async with staged(tmp_path) as (app, pilot):
        await app.pressed(pilot, "ctrl+p")
        await pilot.press(*"run options")
        await until(lambda: not app.on(RunScreen))
        await pilot.pause(0.3)
        await pilot.press("enter", "enter")
        await until(lambda: app.shown.has_class("-options"), "the options")
