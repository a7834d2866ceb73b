from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from textual.app import App
from textual.pilot import Pilot

from core.model import CancelLevel, RunRow
from playground.app import PlaygroundApp
from playground.screens.runs import RunsScreen
from tests.fakes.clock import FakeClock
from tests.playground.runs_rows import FakeRuns, run, some_runs
from tests.support.waiting import until

NOW = FakeClock().now_us()


class RunsApp(App[None]):
    CSS_PATH = PlaygroundApp.CSS_PATH
    COMPONENT_CLASSES = PlaygroundApp.COMPONENT_CLASSES

    def __init__(self, source: FakeRuns) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.source = source
        self.animation_level = "none"
        self.attached: list[str] = []
        self.left = 0

    def on_mount(self) -> None:
        self.push_screen(RunsScreen(self.source, self.clock))

    def on_runs_screen_attach_run(self, event: RunsScreen.AttachRun) -> None:
        self.attached.append(event.run_id)

    def action_go(self, mode: str) -> None:
        self.left += mode == "run"

    @property
    def runs(self) -> RunsScreen:
        assert isinstance(self.screen, RunsScreen)
        return self.screen

    @property
    def lines(self) -> list[str]:
        table = self.runs.table
        return [table.render_line(y).text.rstrip() for y in range(table.size.height)]


@asynccontextmanager
async def runs_app(
    rows: list[RunRow], live: tuple[str, ...] = (), size: tuple[int, int] = (120, 30)
) -> AsyncIterator[tuple[RunsApp, Pilot[None], FakeRuns]]:
    source = FakeRuns(rows, live)
    app = RunsApp(source)
    async with app.run_test(size=size) as pilot:
        await until(lambda: isinstance(app.screen, RunsScreen) and source.pages)
        await until(lambda: not rows or app.lines[0])
        await pilot.pause()
        yield app, pilot, source


async def test_every_run_is_a_line_with_its_state_step_tokens_owner_and_age() -> None:
    rows = some_runs(NOW)
    async with runs_app(rows, live=(rows[0].run_id,)) as (app, _, _source):
        for place, words in enumerate(
            [
                ("● running", "demo/essay", "Write an essay", "model call", "1.2k", "here", "0 s"),
                ("● running", "get_weather", "pid 812", "1m"),
                ("■ cancelling", "after get_weather", "2m"),
                ("■ cancelled", "by ada", "~490", "4m"),
                ("✓ completed", "9m"),
                ("✗ failed", "local-llama", "provider failed", "1h"),
            ]
        ):
            for word in words:
                assert word in app.lines[place], app.lines[place]
        assert str(app.runs.panel.border_title) == "runs · 8 · 3 live"


async def test_enter_attaches_to_the_run_and_escape_leaves() -> None:
    rows = some_runs(NOW)
    async with runs_app(rows) as (app, pilot, source):
        await pilot.press("down", "enter")
        await until(lambda: app.attached)
        assert app.attached == [rows[1].run_id]
        await pilot.press("escape")
        await until(lambda: app.left)
        assert source.cancels == []


async def test_two_presses_cancel_then_abort_and_a_held_key_does_not() -> None:
    rows = some_runs(NOW)
    first = rows[0].run_id
    async with runs_app(rows) as (app, pilot, source):
        await pilot.press("c", "c", "c")
        await until(lambda: source.cancels)
        await until(lambda: "■ cancelling" in app.lines[0])
        assert source.cancels == [(first, CancelLevel.BOUNDARY)]
        await until(lambda: app.runs.ladder(first).shown_at is not None)
        app.clock.advance(0.2)
        await pilot.press("c")
        app.clock.advance(0.2)
        await pilot.press("c")
        await until(lambda: len(source.cancels) == 2)
        assert source.cancels[1] == (first, CancelLevel.ABORT)
        await until(lambda: "■ aborting" in app.lines[0])
        app.clock.advance(5)
        await pilot.press("c")
        assert len(source.cancels) == 2


async def test_a_run_that_somebody_else_is_cancelling_takes_the_second_press() -> None:
    rows = some_runs(NOW)
    async with runs_app(rows) as (app, pilot, source):
        await pilot.press("down", "down")
        await until(lambda: app.runs.ladder(rows[2].run_id).shown_at is not None)
        app.clock.advance(0.4)
        await pilot.press("c")
        await until(lambda: source.cancels == [(rows[2].run_id, CancelLevel.ABORT)])


async def test_a_run_that_has_ended_is_not_cancelled() -> None:
    async with runs_app(some_runs(NOW)[3:]) as (_, pilot, source):
        await pilot.press("c", "down", "c")
        assert source.cancels == []


async def test_the_cursor_stays_on_its_run_when_newer_ones_come() -> None:
    rows = some_runs(NOW)
    async with runs_app(list(rows)) as (app, pilot, source):
        await pilot.press("down")
        source.rows[:0] = [run(-1, NOW), run(0, NOW, run_id="0198f3c2-7a10-7c3e-9b1d-new")]
        app.runs.refresh_runs()
        await until(lambda: app.runs.table.selected == 3)
        assert app.runs.table.current == rows[1]
        await pilot.press("c")
        await until(lambda: source.cancels)
        assert source.cancels[0][0] == rows[1].run_id


async def test_older_runs_are_read_when_they_come_into_view_and_only_then() -> None:
    rows = [run(number, NOW) for number in range(500)]
    async with runs_app(rows) as (app, pilot, source):
        mounted = len(app.screen.query("*"))
        assert set(source.pages) == {None}
        assert app.runs.table.row_count == 101
        await pilot.press("end")
        await until(lambda: app.runs.table.row_count == 201)
        assert rows[99].run_id in source.pages
        for _ in range(8):
            await pilot.press("end")
        await until(lambda: app.runs.table.row_count == 500)
        assert app.runs.table.runs.complete
        assert len(app.screen.query("*")) == mounted


async def test_a_run_far_down_the_list_is_kept_up_to_date_too() -> None:
    rows = [run(number, NOW) for number in range(150)]
    async with runs_app(rows) as (app, pilot, source):
        await pilot.press("end")
        await until(lambda: app.runs.table.row_count == 150)
        await pilot.press("end")
        source.rows[149] = replace(source.rows[149], prompt="changed meanwhile")
        app.runs.refresh_runs()
        await until(lambda: "changed meanwhile" in app.lines[-1])


async def test_a_store_that_does_not_answer_is_said_and_refuses_no_later_cancel() -> None:
    rows = some_runs(NOW)
    async with runs_app(rows) as (app, pilot, source):
        source.down = True
        await pilot.press("c")
        await until(lambda: "does not answer" in str(app.runs.panel.border_title))
        assert "running" in app.lines[0]
        source.down = False
        app.clock.advance(1)
        await pilot.press("c")
        await until(lambda: source.cancels == [(rows[0].run_id, CancelLevel.BOUNDARY)])


async def test_no_runs_says_how_to_make_one() -> None:
    async with runs_app([]) as (app, _, _source):
        await until(lambda: app.runs.has_class("-empty"))
        assert "F2, a prompt and Enter run" in str(app.runs.query_one("#runs-empty").render())
