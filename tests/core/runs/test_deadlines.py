"""Bodies that outlive their deadline, and bodies that end in odd ways."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from core.errors import RequestCancelled
from core.model import (
    CancelLevel,
    Effect,
    Failed,
    InFlight,
    Response,
    RunStatus,
    StepOutcome,
    TerminationReason,
    Tool,
)
from core.providers.base import ModelReply
from core.tools import tool
from tests.core.runs.rig import every, only, rigged
from tests.fakes.held_tool import Heeds, HeldTool
from tests.fakes.provider import ScriptedProvider, Turn
from tests.support.waiting import until

TURNS = [Turn("let me see", calls=[("held", "{}")]), Turn("so be it")]


@pytest.mark.parametrize("heeds", [Heeds.SIGNAL, Heeds.TASK_CANCEL])
async def test_a_tool_past_its_deadline_is_ended_and_the_run_goes_on(
    tmp_path: Path, heeds: Heeds
) -> None:
    held = HeldTool(heeds=heeds, deadline_s=3.0)
    async with rigged(tmp_path, TURNS, held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        await rig.pass_time(2.9)
        assert not held.contexts[0].signal.is_set()
        result, events = await rig.outlast(rig.ended(run), most_s=2)
    found = only(events, Tool)
    assert (found.outcome, found.executed) == (StepOutcome.ERROR, True)
    assert found.error is not None
    assert found.error.code == "deadline"
    assert result.text == "so be it"
    assert held.ended == 1


@pytest.mark.parametrize("effect", list(Effect))
async def test_a_tool_that_never_ends_is_unknown_and_the_run_goes_on(
    tmp_path: Path, effect: Effect
) -> None:
    held = HeldTool(heeds=Heeds.NOTHING, effect=effect, deadline_s=3.0)
    async with rigged(tmp_path, TURNS, held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        result, events = await rig.outlast(rig.ended(run), most_s=6)
        assert held.ended == 0
        held.release()
        await until(lambda: held.ended)
    found = only(events, Tool)
    assert (found.outcome, found.executed) == (StepOutcome.UNKNOWN, True)
    assert found.result.startswith("unknown:")
    assert (result.status, result.text) == (RunStatus.COMPLETED, "so be it")


async def test_what_a_deadline_left_running_is_named_by_a_later_cancel(tmp_path: Path) -> None:
    held = HeldTool(heeds=Heeds.NOTHING, deadline_s=3.0)
    turns = [TURNS[0], Turn("never", hold=True)]
    async with rigged(tmp_path, turns, held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        await rig.outlast(until(rig.provider.holding.is_set), most_s=6)
        await run.cancel(CancelLevel.ABORT)
        result, _ = await rig.ended(run)
        held.release()
    assert result.receipt is not None
    assert result.receipt.left_running == (InFlight("1.3", "tool_started", "held"),)


async def test_an_unsafe_tool_that_ends_just_past_its_deadline_keeps_its_result(
    tmp_path: Path,
) -> None:
    @tool(effect="unsafe", deadline=3.0, name="held")
    async def pay() -> str:
        await rig.clock.sleep(3.05)
        return "paid"

    async with rigged(tmp_path, TURNS, pay) as rig:
        run = await rig.start()
        _, events = await rig.outlast(rig.ended(run), most_s=6)
    found = only(events, Tool)
    assert (found.result, found.outcome) == ("paid", StepOutcome.OK)


@pytest.mark.parametrize("effect", [Effect.IDEMPOTENT, Effect.UNSAFE])
async def test_an_effect_that_was_cut_at_its_deadline_is_unknown_and_not_an_error(
    tmp_path: Path, effect: Effect
) -> None:
    held = HeldTool(effect=effect, deadline_s=3.0)
    turns = [TURNS[0], Turn("never", hold=True)]
    async with rigged(tmp_path, turns, held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        await rig.outlast(until(rig.provider.holding.is_set), most_s=6)
        await run.cancel(CancelLevel.ABORT)
        result, events = await rig.ended(run)
    found = only(events, Tool)
    assert (found.outcome, found.executed) == (StepOutcome.UNKNOWN, True)
    assert found.result.startswith("unknown:")
    assert result.receipt is not None
    assert result.receipt.left_running == (InFlight("1.3", "tool_started", "held"),)


async def test_an_abort_just_before_the_deadline_stays_an_abort(tmp_path: Path) -> None:
    held = HeldTool(heeds=Heeds.TASK_CANCEL, deadline_s=3.0)
    async with rigged(tmp_path, TURNS, held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        await rig.pass_time(2.95)
        await run.cancel(CancelLevel.ABORT)
        _, events = await rig.outlast(rig.ended(run), most_s=2)
    assert only(events, Tool).outcome is StepOutcome.INTERRUPTED


async def test_a_model_call_past_its_deadline_is_a_timeout_and_not_a_stop(tmp_path: Path) -> None:
    turns = [Turn("half", hold=True), Turn("whole")]
    async with rigged(tmp_path, turns) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        rig.clock.advance(1_799)
        assert rig.provider.holding.is_set()
        rig.clock.advance(1)
        result, events = await rig.outlast(rig.ended(run), most_s=5)
    first, second = every(events, Response)
    assert (first.outcome, first.text) == (StepOutcome.ERROR, "half")
    assert first.error is not None
    assert first.error.code == "timeout"
    assert second.outcome is StepOutcome.OK
    assert (result.status, result.text) == (RunStatus.COMPLETED, "whole")


def leave() -> None:
    sys.exit("s3cret")


def give_up() -> None:
    raise asyncio.CancelledError("s3cret")


def break_in_groups() -> None:
    raise BaseExceptionGroup("s3cret", [SystemExit("s3cret")])


def stop_iterating() -> None:
    raise StopIteration("s3cret")


def close_generator() -> None:
    raise GeneratorExit("s3cret")


def call_itself_off() -> None:
    raise RequestCancelled("The call was called off", code="called_off", before_send=True)


ODD = (leave, give_up, break_in_groups, close_generator)


@pytest.mark.parametrize("raises", [*ODD, stop_iterating])
@pytest.mark.parametrize("threaded", [False, True])
async def test_whatever_a_tool_raises_is_an_error_result_that_names_no_more_than_its_class(
    tmp_path: Path, raises: Any, threaded: bool, caplog: pytest.LogCaptureFixture
) -> None:
    if threaded:

        @tool(effect="pure")
        def held() -> str:
            raises()
            return ""

    else:

        @tool(effect="pure")
        async def held() -> str:
            await asyncio.sleep(0)
            raises()
            return ""

    async with rigged(tmp_path, TURNS, held) as rig:
        result, events = await rig.ended(await rig.start())
    found = only(events, Tool)
    assert (found.outcome, found.executed) == (StepOutcome.ERROR, True)
    assert found.result.startswith("Error: The tool raised ")
    assert result.text == "so be it"
    assert "s3cret" not in f"{events}{rig.provider.requests}{caplog.text}"


async def test_a_tool_whose_own_call_was_called_off_says_so(tmp_path: Path) -> None:
    @tool(effect="pure")
    async def held() -> str:
        call_itself_off()
        return ""

    async with rigged(tmp_path, TURNS, held) as rig:
        result, events = await rig.ended(await rig.start())
    assert only(events, Tool).result == "Error: The call was called off"
    assert result.status is RunStatus.COMPLETED


@pytest.mark.parametrize("raises", [*ODD, lambda: None])
async def test_whatever_a_provider_raises_fails_the_run_and_keeps_what_came(
    tmp_path: Path, raises: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(ScriptedProvider):
        async def respond(self, request: Any, *, on_delta: Any, **_: Any) -> ModelReply:
            on_delta("text", "half an answer")
            await asyncio.sleep(0)
            raises()
            raise KeyError("s3cret")

    async with rigged(tmp_path, provider=Broken([])) as rig:
        result, events = await rig.ended(await rig.start())
    assert (result.status, result.text) == (RunStatus.FAILED, "half an answer")
    assert result.termination_reason is TerminationReason.PROVIDER_FAILED
    response = only(events, Response)
    assert (response.outcome, response.text) == (StepOutcome.ERROR, "half an answer")
    error = only(events, Failed).error
    assert error.code == "unknown"
    assert error.message.startswith("The provider raised: ")
    assert "s3cret" not in f"{events}{result}{caplog.text}"
