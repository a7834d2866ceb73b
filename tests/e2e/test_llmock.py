"""Whole runs against a server that nobody here wrote, and its injected faults.

From a model entry in a TOML file and a secret in the vault to the events and the audit log.
``llmock`` injects all faults itself but one: it ends streams between two events only, so a
small proxy ends one within an event.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core import Run
from core.model import (
    AuditAction,
    Delta,
    Failed,
    Request,
    Response,
    RunStatus,
    StepOutcome,
    TerminationReason,
    Tool,
    Usage,
)
from tests.core.runs.rig import every, kinds, only
from tests.fakes.clock import FakeClock
from tests.support.llmock import (
    STALL_S,
    TEXT,
    asked,
    cut_after,
    ended,
    is_partial,
    peer_runtime,
    run_to_end,
)
from tests.support.waiting import PATIENCE_S

CALL = AuditAction.HTTP_CALL
WEATHER = ("get_weather",)


async def test_a_run_calls_its_tool_and_answers(llmock: Any, tmp_path: Path) -> None:
    llmock.call_tool("get_weather", {"city": "Zürich"}).reply(TEXT)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        end = await run_to_end(runtime, asked(tools=WEATHER))
    assert (end.result.status, end.result.text) == (RunStatus.COMPLETED, TEXT)
    assert end.result.termination_reason is TerminationReason.COMPLETED
    assert kinds(end.events) == [
        "started",
        "assembled",
        *("request", "response", "tool_started", "tool"),
        *("request", "response", "completed"),
    ]
    assert only(end.events, Tool).outcome is StepOutcome.OK
    assert [event.finish_reason for event in every(end.events, Response)] == ["tool_calls", "stop"]
    assert end.result.usage.requests == 2
    assert not end.result.usage.estimated
    assert end.outcomes == [(CALL, True, 200)] * 2
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize(
    ("kind", "code"), [("malformed_arguments", "bad_arguments"), ("unknown_tool", "unknown_tool")]
)
async def test_a_broken_tool_call_is_told_to_the_model_and_the_run_goes_on(
    llmock: Any, tmp_path: Path, kind: str, code: str
) -> None:
    llmock.call_tool("get_weather", {"city": "Oslo"}).break_tool_call(kind).reply(TEXT)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        end = await run_to_end(runtime, asked(tools=WEATHER))
    tool = only(end.events, Tool)
    assert tool.outcome is StepOutcome.ERROR
    assert tool.error is not None
    assert tool.error.code == code
    assert (end.result.status, end.result.text) == (RunStatus.COMPLETED, TEXT)
    assert llmock.requests[-1].body["messages"][-1]["content"] == tool.result


async def test_a_rate_limit_is_waited_out_and_the_second_attempt_answers(
    llmock: Any, tmp_path: Path
) -> None:
    llmock.rate_limit(times=1, retry_after=0.2).reply(TEXT)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        end = await run_to_end(runtime, asked())
    assert (end.result.status, end.result.text) == (RunStatus.COMPLETED, TEXT)
    assert [event.attempt for event in every(end.events, Request)] == [1, 2]
    first, second = every(end.events, Response)
    assert (first.outcome, first.text, first.usage) == (StepOutcome.ERROR, "", Usage(1))
    assert first.error is not None
    assert first.error.code == "rate_limit"
    assert (second.outcome, second.text) == (StepOutcome.OK, TEXT)
    assert [row.status for row in end.calls] == [429, 200]
    assert {row.action for row in end.calls} == {CALL}
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize(
    ("fault", "failure_class", "success"),
    [("truncate", "incomplete_stream", True), ("disconnect", "connection", False)],
)
async def test_a_cut_stream_is_a_failure_that_a_second_attempt_makes_good(
    llmock: Any, tmp_path: Path, fault: str, failure_class: str, success: bool
) -> None:
    llmock.reply(TEXT, times=2)
    getattr(llmock, fault)(after_chunks=4)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        end = await run_to_end(runtime, asked())
    first, second = every(end.events, Response)
    assert (first.outcome, first.finish_reason) == (StepOutcome.ERROR, "")
    assert is_partial(first.text)
    assert first.error is not None
    assert first.error.code == failure_class
    assert (second.outcome, second.text) == (StepOutcome.OK, TEXT)
    assert (end.result.status, end.result.text) == (RunStatus.COMPLETED, TEXT)
    assert [event.attempt for event in every(end.events, Request)] == [1, 2]
    assert end.outcomes == [(CALL, success, 200), (CALL, True, 200)]
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize(
    ("fault", "failure_class", "outcome"),
    [
        ("truncate", "incomplete_stream", (CALL, True, 200)),
        ("disconnect", "connection", (CALL, False, 200)),
        ("stall", "timeout", (CALL, False, 200)),
        ("outage", "server_error", (CALL, True, 503)),
    ],
)
async def test_a_fault_that_stays_fails_the_run_after_four_attempts(
    llmock: Any,
    tmp_path: Path,
    fault: str,
    failure_class: str,
    outcome: tuple[AuditAction, bool, int],
) -> None:
    llmock.reply(TEXT, times=None)
    if fault == "outage":
        llmock.outage()
    else:
        more = {"seconds": STALL_S} if fault == "stall" else {}
        getattr(llmock, fault)(after_chunks=4, times=None, **more)
    clock = FakeClock()
    async with peer_runtime(tmp_path, llmock.base_url(), clock=clock) as runtime:
        run = await runtime.start(asked())
        await outlast(run, clock, stalls=fault == "stall")
        end = await ended(runtime, run)
    assert (end.result.status, end.result.error) == (
        RunStatus.FAILED,
        only(end.events, Failed).error,
    )
    assert end.result.termination_reason is TerminationReason.PROVIDER_FAILED
    assert only(end.events, Failed).error.code == failure_class
    assert [event.attempt for event in every(end.events, Request)] == [1, 2, 3, 4]
    for response in every(end.events, Response):
        assert (response.outcome, response.finish_reason) == (StepOutcome.ERROR, "")
        assert response.error is not None
        assert response.error.code == failure_class
        assert is_partial(response.text) or fault == "outage"
    assert end.outcomes == [outcome] * 4
    assert len(llmock.requests) == 4


async def outlast(run: Run, clock: FakeClock, *, stalls: bool) -> None:
    """Let time pass where nothing but time is waited for: in a back-off or a stall."""
    hung: set[str] = set()
    async with asyncio.timeout(PATIENCE_S), run.events() as stream:
        events, backing_off = aiter(stream), False
        while True:
            following = asyncio.ensure_future(anext(events))
            while not following.done():
                if backing_off:
                    clock.advance(0.25)
                await asyncio.wait({following}, timeout=0.001)
            event = following.result()
            if event.terminal:
                return
            backing_off = isinstance(event, Response)
            if stalls and isinstance(event, Delta) and event.step not in hung:
                hung.add(event.step)
                clock.advance(61)


@pytest.mark.parametrize(
    ("status", "failure_class"), [(400, "client_error"), (401, "auth"), (404, "client_error")]
)
async def test_a_refusal_ends_the_run_at_the_first_attempt(
    llmock: Any, tmp_path: Path, status: int, failure_class: str
) -> None:
    llmock.fail(status).reply(TEXT)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        end = await run_to_end(runtime, asked())
    assert (end.result.status, end.result.text) == (RunStatus.FAILED, "")
    assert only(end.events, Failed).error.code == failure_class
    assert kinds(end.events)[-3:] == ["request", "response", "failed"]
    assert [row.status for row in end.calls] == [status]
    assert len(llmock.requests) == 1
    llmock.assert_resilient(strict=True)


async def test_a_malformed_chunk_ends_the_run_at_the_first_attempt(
    llmock: Any, tmp_path: Path
) -> None:
    llmock.reply(TEXT, times=2).corrupt(after_chunks=4)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        end = await run_to_end(runtime, asked())
    assert end.result.status is RunStatus.FAILED
    assert only(end.events, Failed).error.code == "malformed"
    assert is_partial(only(end.events, Response).text)
    assert end.outcomes == [(CALL, True, 200)]
    assert len(llmock.requests) == 1


async def test_wherever_a_stream_ends_only_a_finish_reason_makes_it_an_answer(
    llmock: Any, tmp_path: Path
) -> None:
    # A role, eight words, the finish reason, the usage, the end mark.
    before_the_reason = 9
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        for chunks in range(before_the_reason + 3):
            llmock.reply(TEXT).truncate(after_chunks=chunks)
            # One attempt spends such a budget, so there is no second.
            end = await run_to_end(runtime, asked(max_total_tokens=1))
            response = only(end.events, Response)
            if chunks > before_the_reason:
                assert (end.result.status, end.result.text) == (RunStatus.COMPLETED, TEXT)
                assert response.finish_reason == "stop"
                continue
            assert end.result.status is RunStatus.FAILED
            assert only(end.events, Failed).error.code == "incomplete_stream"
            assert (response.outcome, response.finish_reason) == (StepOutcome.ERROR, "")
            assert TEXT.startswith(response.text)


async def test_a_stream_that_ends_within_its_last_event_is_no_answer(
    llmock: Any, tmp_path: Path
) -> None:
    llmock.reply(TEXT, times=2)
    async with (
        cut_after(llmock.base_url(), [b'"finish_reason":"stop"']) as url,
        peer_runtime(tmp_path, url) as runtime,
    ):
        end = await run_to_end(runtime, asked())
    first, second = every(end.events, Response)
    assert (first.outcome, first.text, first.finish_reason) == (StepOutcome.ERROR, TEXT, "")
    assert first.error is not None
    assert first.error.code == "incomplete_stream"
    assert (second.outcome, second.text, second.finish_reason) == (StepOutcome.OK, TEXT, "stop")
    assert end.outcomes == [(CALL, True, 200)] * 2
    assert end.result.status is RunStatus.COMPLETED
