"""Attempts: which failures are tried again, when, and what each costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import ProviderError
from core.model import (
    Failed,
    FailureClass,
    Request,
    Response,
    RunStatus,
    StepOutcome,
    TerminationReason,
    Usage,
)
from core.providers.base import ModelReply
from tests.core.runs.rig import Rig, every, kinds, only, rigged, settle
from tests.fakes.provider import ScriptedProvider, Turn
from tests.support.waiting import until


def failing(failure_class: FailureClass | str, retry_after: float | None = None) -> Turn:
    error = ProviderError("It broke.", failure_class=failure_class, retry_after=retry_after)
    return Turn("par", error=error)


async def attempts(rig: Rig, number: int) -> None:
    await until(lambda: len(rig.provider.requests) == number, f"attempt {number}")


async def not_before(rig: Rig, number: int, seconds: float) -> None:
    """Attempt ``number`` comes ``seconds`` after what precedes it, and not earlier."""
    # The wait begins when the attempt before is recorded.
    await rig.recorded(Response, number - 1)
    rig.clock.advance(seconds - 0.01)
    await settle()
    assert len(rig.provider.requests) == number - 1
    rig.clock.advance(0.01)
    await attempts(rig, number)


RETRYABLE = [name for name in FailureClass if name.retryable]


@pytest.mark.parametrize("failure_class", RETRYABLE)
async def test_a_passing_failure_is_tried_again_as_a_step_of_its_own(
    tmp_path: Path, failure_class: FailureClass
) -> None:
    async with rigged(tmp_path, [failing(failure_class), Turn("whole")]) as rig:
        result, events = await rig.outlast(rig.ended(await rig.start()), most_s=2)
    first, second = every(events, Request)
    assert (first.attempt, second.attempt) == (1, 2)
    assert (first.round, second.round) == (1, 1)
    assert first.step != second.step
    assert first.digest == second.digest
    bad, good = every(events, Response)
    assert (bad.outcome, bad.text) == (StepOutcome.ERROR, "par")
    assert bad.error is not None
    assert (bad.error.code, bad.error.message) == (failure_class.value, "It broke.")
    assert good.outcome is StepOutcome.OK
    assert (result.status, result.text) == (RunStatus.COMPLETED, "whole")
    assert result.usage == Usage(1) + Usage(1, 100, 20)
    assert rig.provider.requests[0].messages == rig.provider.requests[1].messages


@pytest.mark.parametrize("failure_class", [name for name in FailureClass if not name.retryable])
async def test_a_lasting_failure_is_not_tried_again(
    tmp_path: Path, failure_class: FailureClass
) -> None:
    async with rigged(tmp_path, [failing(failure_class), Turn("never")]) as rig:
        result, events = await rig.ended(await rig.start())
    assert rig.clock.monotonic() == 0
    assert (result.status, result.text) == (RunStatus.FAILED, "par")
    assert result.termination_reason is TerminationReason.PROVIDER_FAILED
    assert result.error is not None
    assert (result.error.code, result.error.message) == (failure_class.value, "It broke.")
    assert only(events, Failed).usage == Usage(1)


def test_every_failure_class_is_either_retried_or_not() -> None:
    assert {name.value for name in RETRYABLE} == {
        "connection",
        "timeout",
        "rate_limit",
        "server_error",
        "incomplete_stream",
    }


async def test_four_attempts_are_made_with_growing_waits_and_the_run_fails(tmp_path: Path) -> None:
    async with rigged(tmp_path, [failing("server_error")], loop=True) as rig:
        run = await rig.start()
        await attempts(rig, 1)
        for number, wait in ((2, 0.5), (3, 1.0), (4, 2.0)):
            await not_before(rig, number, wait)
        result, events = await rig.ended(run)
    assert result.termination_reason is TerminationReason.PROVIDER_FAILED
    assert [event.attempt for event in every(events, Request)] == [1, 2, 3, 4]
    assert result.usage == Usage(4)
    assert kinds(events) == ["started", "assembled", *["request", "response"] * 4, "failed"]


async def test_attempts_are_counted_anew_in_each_round(tmp_path: Path) -> None:
    turns = [
        *[failing("timeout")] * 3,
        Turn(calls=[("get_weather", '{"city": "Oslo"}')]),
        *[failing("timeout")] * 3,
        Turn("done"),
    ]
    async with rigged(tmp_path, turns) as rig:
        result, events = await rig.outlast(
            rig.ended(await rig.start(tools=("get_weather",))), most_s=20
        )
    assert result.status is RunStatus.COMPLETED
    assert [event.attempt for event in every(events, Request)] == [1, 2, 3, 4, 1, 2, 3, 4]


async def test_a_servers_own_wait_is_kept_to(tmp_path: Path) -> None:
    async with rigged(tmp_path, [failing("rate_limit", 7.5), Turn("whole")]) as rig:
        run = await rig.start()
        await attempts(rig, 1)
        await not_before(rig, 2, 7.5)
        result, _ = await rig.ended(run)
    assert result.text == "whole"


@pytest.mark.parametrize("seconds", [0.0, 60.0])
async def test_waits_at_the_edges_are_kept_to(tmp_path: Path, seconds: float) -> None:
    async with rigged(tmp_path, [failing("rate_limit", seconds), Turn("whole")]) as rig:
        run = await rig.start()
        result, _ = await rig.outlast(rig.ended(run), most_s=61)
    assert result.text == "whole"
    assert rig.clock.monotonic() >= seconds


async def test_a_wait_that_is_too_long_fails_at_once(tmp_path: Path) -> None:
    async with rigged(tmp_path, [failing("rate_limit", 61.0), Turn("never")]) as rig:
        result, _ = await rig.ended(await rig.start())
    assert rig.clock.monotonic() == 0
    assert result.status is RunStatus.FAILED
    assert result.error is not None
    assert result.error.code == "rate_limit"


async def test_a_spent_budget_stops_the_retries(tmp_path: Path) -> None:
    class Dear(ScriptedProvider):
        async def respond(self, request: Any, **given: Any) -> ModelReply:
            reply = await super().respond(request, **given)
            return replace(reply, response=replace(reply.response, usage=Usage(1, 90, 20)))

    async with rigged(tmp_path, provider=Dear([failing("server_error")] * 2)) as rig:
        result, _ = await rig.ended(await rig.start(max_total_tokens=100))
    assert rig.clock.monotonic() == 0
    assert result.termination_reason is TerminationReason.PROVIDER_FAILED
    assert result.usage == Usage(1, 90, 20)


async def test_a_wait_is_no_step_and_nothing_is_open_meanwhile(tmp_path: Path) -> None:
    async with rigged(tmp_path, [failing("rate_limit", 30.0), Turn("whole")]) as rig:
        run = await rig.start()
        await rig.recorded(Response)
        assert (await rig.runtime.status(run.id)).open_steps == ()
        assert kinds(await rig.events(run))[-1] == "response"
        await rig.outlast(rig.ended(run), most_s=31)
