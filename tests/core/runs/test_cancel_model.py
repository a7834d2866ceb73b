"""A stop while the model is asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.model import (
    Cancelled,
    CancelLevel,
    CancelRequested,
    InFlight,
    Outcome,
    Response,
    RunStatus,
    StepOutcome,
    TerminationReason,
    Usage,
)
from tests.core.runs.rig import Rig, every, kinds, only, rigged, settle
from tests.fakes.provider import ScriptedProvider, Turn
from tests.support.waiting import until

ABORT, BOUNDARY = CancelLevel.ABORT, CancelLevel.BOUNDARY
LONG = Turn(text="a long answer", pieces=("a long", " answer"), hold=True)


async def streaming(rig: Rig) -> None:
    await until(rig.provider.holding.is_set, "the model to stream")


async def test_a_boundary_stop_lets_the_answer_end_and_records_it(tmp_path: Path) -> None:
    async with rigged(tmp_path, [LONG]) as rig:
        run = await rig.start()
        await streaming(rig)
        rig.clock.advance(2)
        receipt = await run.cancel(by="ada", reason="enough")
        assert (receipt.changed, receipt.status_before, receipt.durable) == (True, "running", True)
        assert receipt.in_flight == (InFlight("1.2", "request", "m"),)
        row = await rig.runtime.status(run.id)
        assert (row.status, row.cancelling) == (RunStatus.CANCELLED, True)
        rig.clock.advance(3)
        rig.provider.release()
        result, events = await rig.ended(run)
    assert (result.outcome, result.status) == (Outcome.CANCELLED, RunStatus.CANCELLED)
    assert result.termination_reason is TerminationReason.CANCELLED
    assert (result.text, result.error, result.recorded) == ("a long answer", None, True)
    assert kinds(events)[-3:] == ["cancel_requested", "response", "cancelled"]
    response = only(events, Response)
    assert (response.outcome, response.executed) == (StepOutcome.OK, True)
    told = only(events, Cancelled).receipt
    assert told == result.receipt
    assert (told.requested_by, told.reason, told.level) == ("ada", "enough", BOUNDARY)
    assert told.stopped_at_us - told.requested_at_us == 3_000_000
    assert told.boundary == "1.2"
    assert told.usage == told.usage_in_flight == Usage(1, 100, 20)
    assert told.usage_after_request == Usage()
    assert told.left_running == ()


async def test_an_abort_ends_the_call_at_once_and_keeps_the_partial_answer(tmp_path: Path) -> None:
    async with rigged(tmp_path, [LONG]) as rig:
        run = await rig.start()
        await streaming(rig)
        await run.cancel(ABORT)
        result, events = await rig.ended(run)
    response = only(events, Response)
    assert (response.outcome, response.text) == (StepOutcome.INTERRUPTED, "a long answer")
    assert response.executed
    assert result.text == "a long answer"
    assert result.receipt is not None
    assert (result.receipt.level, result.receipt.boundary) == (ABORT, "1.2")
    assert result.receipt.usage_in_flight == response.usage
    assert response.usage.estimated


async def test_a_second_stop_raises_the_level_and_the_receipt_names_the_highest(
    tmp_path: Path,
) -> None:
    async with rigged(tmp_path, [LONG]) as rig:
        run = await rig.start()
        await streaming(rig)
        await run.cancel(by="ada", reason="first")
        again = await run.cancel(by="bob", reason="again")
        assert (again.changed, again.why) == (False, "already requested at this level")
        assert (again.status_before, again.level) == ("cancelled", BOUNDARY)
        raised = await run.cancel(ABORT, by="bob", reason="now")
        assert (raised.changed, raised.status_before, raised.level) == (True, "cancelled", ABORT)
        assert raised.in_flight == (InFlight("1.2", "request", "m"),)
        result, events = await rig.ended(run)
        lower = await run.cancel(BOUNDARY)
    assert (lower.changed, lower.why) == (False, "already cancelled")
    asked = every(events, CancelRequested)
    assert [(item.level, item.by) for item in asked] == [(BOUNDARY, "ada"), (ABORT, "bob")]
    assert [item.in_flight for item in asked] == [receipt.in_flight for receipt in (again, raised)]
    assert result.receipt is not None
    assert (result.receipt.requested_by, result.receipt.reason) == ("ada", "first")
    assert result.receipt.level is ABORT


async def test_a_stop_at_the_very_last_answer_is_never_overtaken_by_it(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("the end", hold=True)]) as rig:
        run = await rig.start()
        await streaming(rig)
        rig.store.handed_in.shut()
        # The answer comes while the stop's write still waits, and wants to be the end.
        stop = asyncio.create_task(run.cancel())
        await until(lambda: rig.store.handed_in.waiting == 1, "the stop's write")
        rig.provider.release()
        await until(lambda: not rig.provider.holding.is_set())
        await settle()
        assert rig.store.handed_in.waiting == 1
        rig.store.handed_in.open()
        receipt = await stop
        result, events = await rig.ended(run)
    assert receipt.changed
    assert result.status is RunStatus.CANCELLED
    assert kinds(events)[-3:] == ["cancel_requested", "response", "cancelled"]
    assert result.text == "the end"


async def test_a_stop_from_elsewhere_as_the_last_answer_is_stored_wins_or_says_why_not(
    tmp_path: Path,
) -> None:
    async with rigged(tmp_path, [Turn("the end", hold=True)]) as rig:
        run = await rig.start()
        await streaming(rig)
        rig.store.handed_in.shut()
        rig.provider.release()
        await until(lambda: rig.store.handed_in.waiting, "the closing commit")
        receipt = await rig.elsewhere.cancel(run.id, level=BOUNDARY, by="x", reason="", at_us=7)
        rig.store.handed_in.open()
        result, events = await rig.ended(run)
    assert receipt.changed
    assert result.status is RunStatus.CANCELLED
    assert kinds(events)[-3:] == ["cancel_requested", "response", "cancelled"]


async def test_a_stop_while_the_closing_answer_comes_ends_cancelled(tmp_path: Path) -> None:
    turns = [Turn("1", calls=[("get_weather", '{"city": "Oslo"}')]), Turn("all in all", hold=True)]
    async with rigged(tmp_path, turns) as rig:
        run = await rig.start(max_rounds=1, tools=("get_weather",))
        await streaming(rig)
        assert rig.provider.requests[-1].tools == ()
        await run.cancel()
        rig.provider.release()
        result, events = await rig.ended(run)
    assert (result.status, result.text) == (RunStatus.CANCELLED, "all in all")
    assert only(events, Cancelled).receipt.boundary == "1.4"


class Deaf(ScriptedProvider):
    """Streams a piece and then waits for ever, whatever its signal says."""

    async def respond(self, request, *, http, signal, on_delta):  # type: ignore[no-untyped-def]
        on_delta("thinking", "hm")
        on_delta("text", "half an ")
        on_delta("text", "answer")
        self.holding.set()
        await self._release.wait()


async def test_an_abort_ends_a_provider_that_ignores_its_signal_and_keeps_what_it_said(
    tmp_path: Path,
) -> None:
    async with rigged(tmp_path, provider=Deaf([])) as rig:
        run = await rig.start()
        await streaming(rig)
        await run.cancel(ABORT)
        assert run.id in rig.runtime.live
        await rig.pass_time(2.1)
        result, events = await rig.ended(run)
    response = only(events, Response)
    assert response.outcome is StepOutcome.INTERRUPTED
    assert (response.text, response.thinking) == ("half an answer", "hm")
    assert result.text == "half an answer"
    assert result.receipt is not None
    assert result.receipt.left_running == ()


async def test_a_stop_before_the_first_step_starts_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("never")]) as rig:
        run = await rig.start()
        receipt = await run.cancel(ABORT)
        result, events = await rig.ended(run)
    assert receipt.in_flight == ()
    assert rig.provider.requests == []
    assert kinds(events) in (
        ["started", "assembled", "cancel_requested", "cancelled"],
        ["started", "cancel_requested", "assembled", "cancelled"],
    )
    assert result.receipt is not None
    assert (result.receipt.boundary, result.receipt.usage) == (None, Usage())


@pytest.mark.parametrize("level", [BOUNDARY, ABORT])
async def test_a_call_that_has_not_begun_does_not_begin_and_says_so(
    tmp_path: Path, level: CancelLevel
) -> None:
    async with rigged(tmp_path, [Turn("never")]) as rig:
        rig.store.answered.shut()
        run = await rig.start()
        # Its intent is stored, and the answer has not come back.
        await until(lambda: rig.store.answered.waiting, "the intent")
        stop = asyncio.create_task(run.cancel(level))
        await until(lambda: rig.store.answered.waiting == 2, "the stop's write")
        rig.store.answered.open()
        receipt = await stop
        result, events = await rig.ended(run)
    assert rig.provider.requests == []
    response = only(events, Response)
    assert (response.executed, response.outcome) == (False, StepOutcome.INTERRUPTED)
    assert (response.usage, response.duration_ms) == (Usage(), None)
    assert receipt.changed
    assert [item.step for item in receipt.in_flight] == [response.step]
    assert result.status is RunStatus.CANCELLED
    assert result.usage == Usage()


async def test_a_cancel_is_no_error_anywhere(tmp_path: Path) -> None:
    async with rigged(tmp_path, [LONG]) as rig:
        run = await rig.start()
        await streaming(rig)
        await run.cancel(ABORT)
        result, events = await rig.ended(run)
    assert result.error is None
    assert only(events, Response).error is None
