from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, Select

from core import RunRequest, tool
from core.model import AuditRow
from core.store import AuditQuery
from playground.screens.audit import AuditScreen
from playground.screens.run import RunScreen
from playground.state.run import Phase
from playground.widgets.audit_pane import AuditPane
from playground.widgets.ticks import TickList
from tests.playground.stage import PROMPT, StagedApp, held, staged, weather
from tests.support.waiting import until


@tool(effect="pure")
async def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


def _note(app: StagedApp) -> str:
    return str(app.shown.query_one("#form-note").render())


async def test_a_tool_of_the_program_is_not_on_offer_until_it_is_ticked(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}, tools=[add]) as (app, pilot):
        default = sum(info.default for info in app.runtime.tools())
        assert _note(app) == f"{default} tools"
        await app.pressed(pilot, "ctrl+o")
        tools = app.shown.query_one(TickList)
        assert "add" not in tools.selected
        assert app.shown.form.data.tools is None
        tools.select("add")
        await pilot.pause()
        assert _note(app) == f"{default + 1} tools"
        app.fill()
        await app.pressed(pilot, "f5")
        await until(lambda: app.shown.view is not None)
        await app.ended(pilot)
        assert app.view.request["tools"][-1] == "add"


async def test_the_form_of_an_attached_run_asks_for_all_that_the_run_was_asked(
    tmp_path: Path,
) -> None:
    first, second = weather(), held()
    request = RunRequest(
        prompt=PROMPT, model="second", tools=("get_weather",), system="be brief", max_rounds=3
    )
    async with staged(tmp_path, {"first": first, "second": second}) as (app, pilot):
        app.fill("a draft", "first")
        run = await app.runtime.start(request)
        app.shown.attach(run.id)
        await until(second.holding.is_set)
        await until(lambda: app.shown.form.prompt.text == PROMPT, "its prompt")
        second.release()
        await app.ended(pilot)
        assert _note(app) == "1 tool · rounds 3 · system"
        await app.pressed(pilot, "ctrl+o")
        assert app.shown.query_one("#max-rounds", Input).value == "3"
        app.shown.form.prompt.focus()
        await app.pressed(pilot, "enter")
        await until(lambda: app.view.run_id not in {"", run.id}, "the same again")
        await until(lambda: app.view.request, "its start")
        assert app.view.request == request.to_json()


async def test_what_an_attached_run_had_and_this_program_has_not_is_kept_and_said(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path, {"gone": weather()}, tools=[add]) as (app, pilot):
        run = await app.runtime.start(RunRequest(prompt=PROMPT, model="gone", tools=("add",)))
        await run.wait()
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        await app.pressed(pilot, "ctrl+o")
        app.shown.attach(run.id)
        await until(lambda: app.ended_as(Phase.COMPLETED), "its end")
        assert not app.shown.has_class("-options")
        assert app.shown.query_one("#model", Select).value == "gone"
        data = app.shown.form.data
        assert (data.model, data.tools) == ("gone", ("add",))
        await app.pressed(pilot, "f5")
        await until(lambda: app._notifications, "why it cannot run")
        assert app.shown.view is None


async def _rows(app: StagedApp) -> list[AuditRow]:
    return await app.runtime.audit.page(AuditQuery())


async def _log(app: StagedApp, pilot: Pilot[None]) -> AuditPane:
    await app.pressed(pilot, "f3")
    assert app.on(AuditScreen)
    pane = app.screen.query_one(AuditPane)
    await until(lambda: pane.idle and pane.table.row_count, "the log")
    return pane


async def test_the_run_of_an_audit_row_opens_at_the_step_that_made_the_call(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path, size=(120, 36)) as (app, pilot):
        run = await app.runtime.start(RunRequest(prompt=PROMPT, model="demo/weather"))
        await run.wait()
        steps = [row.step for row in await _rows(app) if row.run_id == run.id and row.step]
        assert len(set(steps)) > 1
        for step in (steps[-1], steps[0]):
            pane = await _log(app, pilot)
            place = next(
                index
                for index in range(pane.table.row_count)
                if (row := pane.reader.pages.row(index)) and row.step == step
            )
            pane.table.go_to(place)
            await app.pressed(pilot, "o")
            await until(lambda: app.on(RunScreen) and app.shown.view is not None)
            await until(lambda: not app.view.phase.live, "the whole stream")
            await pilot.pause()
            assert app.view.rows[app.shown.steps.selected].step == step
            assert app.shown.steps.has_focus
