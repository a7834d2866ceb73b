"""A stop while tools run."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from core.model import (
    CancelLevel,
    Effect,
    InFlight,
    RunStatus,
    StepOutcome,
    Tool,
    ToolStarted,
)
from core.tools import ToolContext, tool
from tests.core.runs.rig import every, kinds, only, rigged
from tests.fakes.held_tool import Heeds, HeldTool
from tests.fakes.provider import Turn
from tests.support.waiting import until

ABORT, BOUNDARY = CancelLevel.ABORT, CancelLevel.BOUNDARY


def asks_for(*names: str) -> list[Turn]:
    return [Turn("let me see", calls=[(name, "{}") for name in names]), Turn("never asked for")]


async def begun(held: HeldTool) -> None:
    await until(lambda: held.runs, "the tool to begin")


async def test_a_boundary_stop_lets_a_tool_end_and_records_its_result(tmp_path: Path) -> None:
    held = HeldTool()
    async with rigged(tmp_path, asks_for("held"), held) as rig:
        run = await rig.start()
        await begun(held)
        receipt = await run.cancel()
        assert receipt.in_flight == (InFlight("1.3", "tool_started", "held"),)
        assert not held.contexts[0].signal.is_set()
        held.release()
        result, events = await rig.ended(run)
    found = only(events, Tool)
    assert (found.result, found.outcome, found.executed) == ("done", StepOutcome.OK, True)
    assert result.status is RunStatus.CANCELLED
    assert result.receipt is not None
    assert result.receipt.boundary == "1.3"
    assert len(rig.provider.requests) == 1


@pytest.mark.parametrize("effect", [Effect.PURE, Effect.IDEMPOTENT])
async def test_an_abort_ends_a_tool_that_may_run_again_at_once(
    tmp_path: Path, effect: Effect
) -> None:
    held = HeldTool(effect=effect)
    async with rigged(tmp_path, asks_for("held"), held) as rig:
        run = await rig.start()
        await begun(held)
        await run.cancel(ABORT)
        result, events = await rig.ended(run)
    assert rig.clock.monotonic() == 0
    found = only(events, Tool)
    assert (found.outcome, found.executed) == (StepOutcome.INTERRUPTED, True)
    assert result.receipt is not None
    assert result.receipt.left_running == ()
    assert held.ended == 1


async def test_an_abort_ends_a_tool_that_ignores_its_signal(tmp_path: Path) -> None:
    held = HeldTool(heeds=Heeds.TASK_CANCEL)
    async with rigged(tmp_path, asks_for("held"), held) as rig:
        run = await rig.start()
        await begun(held)
        await run.cancel(ABORT)
        assert held.contexts[0].signal.is_set()
        await rig.pass_time(0.15)
        result, events = await rig.ended(run)
    assert only(events, Tool).outcome is StepOutcome.INTERRUPTED
    assert held.ended == 1
    assert result.receipt is not None
    assert result.receipt.left_running == ()


async def test_a_tool_that_swallows_everything_ends_unknown_and_is_named(tmp_path: Path) -> None:
    held = HeldTool(heeds=Heeds.NOTHING)
    async with rigged(tmp_path, asks_for("held"), held) as rig:
        run = await rig.start()
        await begun(held)
        await run.cancel(ABORT)
        result, events = await rig.outlast(rig.ended(run), most_s=2)
        found = only(events, Tool)
        assert (found.outcome, found.executed) == (StepOutcome.UNKNOWN, True)
        assert found.error is not None
        assert result.receipt is not None
        assert result.receipt.left_running == (InFlight("1.3", "tool_started", "held"),)
        assert held.ended == 0
        held.release()
        await until(lambda: held.ended)
        assert await rig.events(run) == events


async def test_an_unsafe_tool_is_shielded_from_an_abort(tmp_path: Path) -> None:
    held = HeldTool(effect=Effect.UNSAFE)
    async with rigged(tmp_path, asks_for("held"), held) as rig:
        run = await rig.start()
        await begun(held)
        await run.cancel(ABORT)
        await rig.pass_time(5, step=0.5)
        assert not held.contexts[0].signal.is_set()
        assert run.id in rig.runtime.live
        held.release()
        result, events = await rig.ended(run)
    assert only(events, Tool).outcome is StepOutcome.OK
    assert result.receipt is not None
    assert (result.receipt.level, result.receipt.left_running) == (ABORT, ())


async def test_a_tool_in_a_thread_runs_to_its_boundary(tmp_path: Path) -> None:
    go_on = threading.Event()
    begun_in: list[str] = []

    @tool(effect="pure")
    def blocking() -> str:
        begun_in.append(threading.current_thread().name)
        assert go_on.wait(10)
        return "done"

    async with rigged(tmp_path, asks_for("blocking"), blocking) as rig:
        run = await rig.start()
        await until(lambda: begun_in)
        await run.cancel()
        go_on.set()
        result, events = await rig.ended(run)
    assert begun_in != [threading.main_thread().name]
    assert (only(events, Tool).result, only(events, Tool).outcome) == ("done", StepOutcome.OK)
    assert result.status is RunStatus.CANCELLED


async def test_a_tool_in_a_thread_can_look_at_its_signal(tmp_path: Path) -> None:
    begun_in: list[bool] = []

    @tool(effect="pure")
    def polite(context: ToolContext) -> str:
        stopped = threading.Event()
        context.signal.subscribe(stopped.set)
        begun_in.append(True)
        assert stopped.wait(10)
        return "as far as I came"

    async with rigged(tmp_path, asks_for("polite"), polite) as rig:
        run = await rig.start()
        await until(lambda: begun_in)
        await run.cancel(ABORT)
        result, events = await rig.ended(run)
    assert only(events, Tool).result == "as far as I came"
    assert result.status is RunStatus.CANCELLED


async def test_a_thread_that_outlives_its_abort_is_unknown_and_named(tmp_path: Path) -> None:
    go_on, begun_in, ended_in = threading.Event(), list[bool](), list[bool]()

    @tool(effect="pure")
    def deaf() -> str:
        begun_in.append(True)
        go_on.wait(10)
        ended_in.append(True)
        return "too late"

    async with rigged(tmp_path, asks_for("deaf"), deaf) as rig:
        run = await rig.start()
        await until(lambda: begun_in)
        await run.cancel(ABORT)
        await rig.pass_time(0.15)
        result, events = await rig.ended(run)
        assert ended_in == []
        found = only(events, Tool)
        assert (found.outcome, found.executed) == (StepOutcome.UNKNOWN, True)
        assert found.error is not None
        assert found.error.code == "no_end"
        assert result.receipt is not None
        assert result.receipt.left_running == (InFlight("1.3", "tool_started", "deaf"),)
        go_on.set()
        await until(lambda: ended_in)
        assert await rig.events(run) == events


async def test_a_thread_past_its_deadline_is_unknown_and_the_run_goes_on(tmp_path: Path) -> None:
    go_on, begun_in = threading.Event(), list[bool]()

    @tool(effect="pure", deadline=3)
    def endless() -> str:
        begun_in.append(True)
        go_on.wait(10)
        return "too late"

    turns = [Turn("let me see", calls=[("endless", "{}")]), Turn("without it, then")]
    async with rigged(tmp_path, turns, endless) as rig:
        run = await rig.start()
        await until(lambda: begun_in)
        await rig.pass_time(3.2, step=0.1)
        result, events = await rig.ended(run)
        go_on.set()
    assert only(events, Tool).outcome is StepOutcome.UNKNOWN
    assert (result.status, result.text) == (RunStatus.COMPLETED, "without it, then")


async def test_side_by_side_tools_end_at_boundaries_of_their_own(tmp_path: Path) -> None:
    first, second, third = (HeldTool(name=f"held{number}") for number in range(3))
    async with rigged(tmp_path, asks_for("held0", "held1", "held2"), first, second, third) as rig:
        run = await rig.start()
        await until(lambda: third.runs, "all three to begin")
        second.release()
        await rig.recorded(Tool)
        receipt = await run.cancel()
        assert [item.name for item in receipt.in_flight] == ["held0", "held2"]
        third.release()
        await rig.recorded(Tool, 2)
        await run.cancel(ABORT)
        result, events = await rig.ended(run)
    ends = {event.name: event.outcome for event in every(events, Tool)}
    assert ends == {
        "held0": StepOutcome.INTERRUPTED,
        "held1": StepOutcome.OK,
        "held2": StepOutcome.OK,
    }
    assert [event.name for event in every(events, Tool)] == ["held1", "held2", "held0"]
    assert result.receipt is not None
    assert (
        result.receipt.boundary
        == only(
            (event for event in events if isinstance(event, Tool) and event.name == "held0"), Tool
        ).step
    )


async def test_a_tool_that_wants_to_be_alone_has_nobody_beside_it(tmp_path: Path) -> None:
    first, alone, last = HeldTool(name="first"), HeldTool(name="x", alone=True), HeldTool(name="z")
    async with rigged(tmp_path, asks_for("first", "x", "z"), first, alone, last) as rig:
        run = await rig.start()
        await begun(first)
        assert (alone.runs, last.runs) == (0, 0)
        first.release()
        await begun(alone)
        assert last.runs == 0
        alone.release()
        await begun(last)
        await run.cancel(ABORT)
        _, events = await rig.ended(run)
    order = [event.name for event in every(events, ToolStarted)]
    assert order == ["first", "x", "z"]


async def test_an_effect_waits_its_turn_and_does_not_begin_after_a_stop(tmp_path: Path) -> None:
    pure, unsafe = HeldTool(name="pure"), HeldTool(name="unsafe", effect=Effect.UNSAFE)
    async with rigged(tmp_path, asks_for("pure", "unsafe"), pure, unsafe) as rig:
        run = await rig.start()
        await begun(pure)
        assert unsafe.runs == 0
        await run.cancel()
        pure.release()
        _, events = await rig.ended(run)
    assert unsafe.runs == 0
    assert [event.name for event in every(events, ToolStarted)] == ["pure"]


@pytest.mark.parametrize("level", [BOUNDARY, ABORT])
async def test_tools_that_have_not_begun_do_not_begin_and_say_so(
    tmp_path: Path, level: CancelLevel
) -> None:
    held = HeldTool()
    turns = [Turn(calls=[("held", "{}"), ("held", "{}")], hold=True)]
    async with rigged(tmp_path, turns, held) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        rig.store.answered.shut()
        rig.provider.release()
        await until(lambda: rig.store.answered.waiting, "the tools' intents")
        stop = asyncio.create_task(run.cancel(level))
        await until(lambda: rig.store.answered.waiting == 2)
        rig.store.answered.open()
        assert len((await stop).in_flight) == 2
        _, events = await rig.ended(run)
    assert held.runs == 0
    for found in every(events, Tool):
        assert (found.executed, found.outcome) == (False, StepOutcome.INTERRUPTED)
        assert found.result == "not executed: the run was cancelled"
    assert kinds(events)[-4:] == ["cancel_requested", "tool", "tool", "cancelled"]


async def test_a_raising_subscriber_of_a_signal_stops_no_cancel(tmp_path: Path) -> None:
    waiting: list[bool] = []

    @tool(effect="pure")
    async def rude(context: ToolContext) -> str:
        def refuse() -> None:
            raise RuntimeError("s3cret")

        context.signal.subscribe(refuse)
        waiting.append(True)
        await asyncio.Event().wait()
        return ""

    held = HeldTool()
    async with rigged(tmp_path, asks_for("rude", "held"), rude, held) as rig:
        run = await rig.start()
        await until(lambda: waiting and held.runs)
        receipt = await run.cancel(ABORT)
        assert receipt.changed
        await rig.pass_time(0.2)
        result, events = await rig.ended(run)
    assert result.status is RunStatus.CANCELLED
    assert {event.outcome for event in every(events, Tool)} == {StepOutcome.INTERRUPTED}
    assert held.ended == 1
