"""Whole runs against a server that nobody here wrote, stopped in every state it brings about.

From a model entry in a TOML file and a secret in the vault to the events, the receipt and the
audit log; at the end from the command line, with a second process that stops.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from core import CancelLevel, Run
from core.model import (
    AuditAction,
    Cancelled,
    CancelRequested,
    Delta,
    EventKind,
    Response,
    RunStatus,
    StepOutcome,
    TerminationReason,
    Usage,
)
from tests.core.runs.rig import every, kinds, only
from tests.e2e.cli_process import ask, command, environment
from tests.support.llmock import (
    CREDENTIAL,
    KEY,
    MODEL,
    STALL_S,
    TEXT,
    asked,
    ended,
    is_partial,
    model_file,
    peer_runtime,
)
from tests.support.waiting import PATIENCE_S, until

ABORT, BOUNDARY = CancelLevel.ABORT, CancelLevel.BOUNDARY
CALL, CUT = AuditAction.HTTP_CALL, AuditAction.HTTP_CALL_CANCELLED


async def streaming(run: Run) -> None:
    """Wait until the run has heard a part of an answer."""
    async with asyncio.timeout(PATIENCE_S), run.events() as stream:
        async for event in stream:
            if isinstance(event, Delta):
                return
    raise AssertionError("ended without a delta")


async def test_a_boundary_stop_lets_the_answer_end_and_starts_nothing_more(
    llmock: Any, tmp_path: Path
) -> None:
    llmock.call_tool("get_weather", {"city": "Oslo"}, text=TEXT).pace(80)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        run = await runtime.start(asked(tools=("get_weather",)))
        await streaming(run)
        receipt = await run.cancel(BOUNDARY, by="ada", reason="enough")
        end = await ended(runtime, run)
    assert (receipt.changed, receipt.durable) == (True, True)
    assert [step.kind for step in receipt.in_flight] == ["request"]
    assert (end.result.status, end.result.text) == (RunStatus.CANCELLED, TEXT)
    assert (end.result.termination_reason, end.result.error) == (TerminationReason.CANCELLED, None)
    assert kinds(end.events)[-3:] == ["cancel_requested", "response", "cancelled"]
    response = only(end.events, Response)
    assert (response.outcome, len(response.tool_calls)) == (StepOutcome.OK, 1)
    told = only(end.events, Cancelled).receipt
    assert (told.requested_by, told.reason, told.level) == ("ada", "enough", BOUNDARY)
    assert told.usage == told.usage_in_flight == response.usage
    assert (told.usage_after_request, told.calls_aborted) == (Usage(), ())
    assert end.outcomes == [(CALL, True, 200)]
    assert len(llmock.requests) == 1


async def test_an_abort_closes_the_call_and_names_the_credential_it_carried(
    llmock: Any, tmp_path: Path
) -> None:
    llmock.reply(TEXT).stall(after_chunks=4, seconds=STALL_S)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        run = await runtime.start(asked())
        await streaming(run)
        receipt = await run.cancel(ABORT)
        end = await ended(runtime, run)
    assert [step.kind for step in receipt.in_flight] == ["request"]
    assert (end.result.status, end.result.error) == (RunStatus.CANCELLED, None)
    assert is_partial(end.result.text)
    response = only(end.events, Response)
    assert (response.outcome, response.error) == (StepOutcome.INTERRUPTED, None)
    assert end.outcomes == [(CUT, False, 200)]
    told = only(end.events, Cancelled).receipt
    assert (told.calls_aborted, told.credentials_exposed) == (
        tuple(row.call_id for row in end.calls),
        (CREDENTIAL,),
    )
    assert (told.usage_after_request, told.left_running) == (Usage(), ())
    (request,) = llmock.requests
    assert not request.completed
    assert request.duration < STALL_S / 2


async def test_a_second_press_aborts_what_the_first_one_waits_for(
    llmock: Any, tmp_path: Path
) -> None:
    llmock.reply(TEXT).stall(after_chunks=4, seconds=STALL_S)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        run = await runtime.start(asked())
        await streaming(run)
        await run.cancel(BOUNDARY)
        assert (await run.status()).cancelling
        assert run.id in runtime.live
        raised = await run.cancel(ABORT)
        end = await ended(runtime, run)
    assert (raised.changed, raised.status_before) == (True, "cancelled")
    assert [event.level for event in every(end.events, CancelRequested)] == [BOUNDARY, ABORT]
    assert end.outcomes == [(CUT, False, 200)]
    assert only(end.events, Cancelled).receipt.level is ABORT


async def test_an_abort_before_the_first_byte_counts_the_credential_as_exposed(
    llmock: Any, llmock_server: Any, tmp_path: Path
) -> None:
    llmock.delay(1).reply(TEXT)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        run = await runtime.start(asked())
        await until(lambda: llmock_server.state.journal.in_flight, "the server to be asked")
        await run.cancel(ABORT)
        end = await ended(runtime, run)
    response = only(end.events, Response)
    assert (response.outcome, response.text) == (StepOutcome.INTERRUPTED, "")
    assert end.outcomes == [(CUT, False, 0)]
    assert only(end.events, Cancelled).receipt.credentials_exposed == (CREDENTIAL,)


async def test_a_stream_cut_after_a_boundary_stop_is_neither_an_answer_nor_tried_again(
    llmock: Any, tmp_path: Path
) -> None:
    llmock.reply(TEXT, times=2).truncate(after_chunks=8).pace(80)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        run = await runtime.start(asked())
        await streaming(run)
        await run.cancel(BOUNDARY)
        end = await ended(runtime, run)
    response = only(end.events, Response)
    assert (response.outcome, response.finish_reason) == (StepOutcome.ERROR, "")
    assert response.error is not None
    assert response.error.code == "incomplete_stream"
    assert kinds(end.events)[-3:] == ["cancel_requested", "response", "cancelled"]
    assert (end.result.status, end.result.error) == (RunStatus.CANCELLED, None)
    assert end.outcomes == [(CALL, True, 200)]
    assert len(llmock.requests) == 1


@pytest.mark.parametrize("level", [BOUNDARY, ABORT])
async def test_a_stop_ends_a_rate_limits_wait_and_aborts_no_call(
    llmock: Any, tmp_path: Path, level: CancelLevel
) -> None:
    llmock.rate_limit(retry_after=STALL_S).reply(TEXT)
    async with peer_runtime(tmp_path, llmock.base_url()) as runtime:
        run = await runtime.start(asked())
        async with asyncio.timeout(PATIENCE_S), run.events() as stream:
            async for event in stream:
                if event.kind is EventKind.RESPONSE:
                    break
        receipt = await run.cancel(level)
        end = await ended(runtime, run)
    assert receipt.in_flight == ()
    assert kinds(end.events)[-3:] == ["response", "cancel_requested", "cancelled"]
    assert [(row.action, row.status) for row in end.calls] == [(CALL, 429)]
    told = only(end.events, Cancelled).receipt
    assert (told.calls_aborted, told.credentials_exposed) == ((), ())
    assert len(llmock.requests) == 1


# The same from the command line.


@pytest.fixture
def configured(llmock: Any, tmp_path: Path) -> Path:
    """A home whose vault holds the model's secret, put there by the command line."""
    setting = [sys.executable, "-m", "core", "secret", "set", CREDENTIAL, "--host"]
    subprocess.run(
        [*setting, urlsplit(llmock.url).netloc],
        cwd=tmp_path,
        env=environment(tmp_path),
        input=KEY,
        text=True,
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return model_file(tmp_path, llmock.base_url())


def test_cancel_now_from_a_second_process_aborts_the_call(
    llmock: Any, configured: Path, tmp_path: Path
) -> None:
    llmock.reply(TEXT).stall(after_chunks=4, seconds=STALL_S)
    with command(
        tmp_path, "run", "go", "--model", MODEL, "--config", str(configured), "--json"
    ) as run:
        run_id = run.event("delta")["run_id"]
        with command(tmp_path, "runs", "cancel", run_id, "--now", "--json") as second:
            assert second.end() == 0
        assert run.end() == 4
    (receipt,) = second.records
    assert (receipt["changed"], receipt["level"]) == (True, "abort")
    assert [step["kind"] for step in receipt["in_flight"]] == ["request"]
    stored = [event for event in run.records if event["seq"] is not None]
    assert [event["seq"] for event in stored] == list(range(len(stored)))
    assert [event["kind"] for event in run.records].count("cancelled") == 1
    assert run.records[-1]["kind"] == "cancelled"
    (response,) = (event for event in stored if event["kind"] == "response")
    assert response["outcome"] == "interrupted"
    assert is_partial(response["text"])
    _, rows = ask(tmp_path, "audit", "list", "--run", run_id)
    calls = [row for row in rows if row["call_id"] is not None]
    assert [(row["action"], row["credential"]) for row in calls] == [(CUT.value, CREDENTIAL)]
    told = run.records[-1]["receipt"]
    assert told["calls_aborted"] == response["call_ids"] == [calls[0]["call_id"]]
    assert told["credentials_exposed"] == [CREDENTIAL]
    code, (verified,) = ask(tmp_path, "audit", "verify")
    assert (code, verified["ok"]) == (0, True)
    (request,) = llmock.requests
    assert not request.completed
    assert request.duration < STALL_S / 2
    assert KEY not in "".join([*run.lines, *run.errors, *second.lines, *second.errors])


def test_a_rate_limit_and_a_truncated_stream_are_overcome_and_a_malformed_one_is_not(
    llmock: Any, configured: Path, tmp_path: Path
) -> None:
    llmock.rate_limit(retry_after=0.1).reply(TEXT, times=2).truncate(after_chunks=4)
    argv = ("run", "go", "--model", MODEL, "--config", str(configured), "--json")
    with command(tmp_path, *argv) as run:
        assert run.end() == 0
    requests = [event for event in run.records if event["kind"] == "request"]
    assert [event["attempt"] for event in requests] == [1, 2, 3]
    responses = [event for event in run.records if event["kind"] == "response"]
    codes = [event["error"] and event["error"]["code"] for event in responses]
    assert codes == ["rate_limit", "incomplete_stream", None]
    assert (run.records[-1]["kind"], run.records[-1]["text"]) == ("completed", TEXT)
    llmock.assert_resilient(strict=True)

    llmock.reset().reply(TEXT).corrupt(after_chunks=4)
    with command(tmp_path, *argv) as run:
        assert run.end() == 1
    assert run.records[-1]["kind"] == "failed"
    assert run.records[-1]["error"]["code"] == "malformed"
    assert len(llmock.requests) == 1
