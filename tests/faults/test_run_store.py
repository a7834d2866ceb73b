"""Runs whose store fails, loses answers, or hangs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.errors import ProviderError
from core.model import (
    Cancelled,
    CancelLevel,
    Effect,
    Event,
    Failed,
    FailureClass,
    InFlight,
    Outcome,
    Request,
    Response,
    RunStatus,
    StepOutcome,
    TerminationReason,
    Tool,
    Usage,
)
from tests.core.runs.rig import Rig, every, faults_of, kinds, only, rigged, settle
from tests.fakes.faulty_store import Fault
from tests.fakes.held_tool import HeldTool
from tests.fakes.provider import Turn
from tests.support.waiting import until

ABORT, BOUNDARY = CancelLevel.ABORT, CancelLevel.BOUNDARY
COMMITS = 5
EVENTS = 11


def script() -> list[Turn]:
    """Five commits: request; tools; a tool; the rest and a request; the end."""
    return [Turn("one", calls=[("a", "{}"), ("b", "{}")]), Turn("two")]


def tools(effect: Effect = Effect.PURE) -> tuple[HeldTool, HeldTool]:
    pair = HeldTool(name="a", effect=effect), HeldTool(name="b", effect=effect)
    for held in pair:
        held.release()
    return pair


async def test_the_script_has_the_commits_that_the_faults_are_put_on(tmp_path: Path) -> None:
    async with rigged(tmp_path, script(), *tools()) as rig:
        result, events = await rig.ended(await rig.start())
        assert len(rig.store.commits) == COMMITS
    assert result.status is RunStatus.COMPLETED
    assert len(events) == EVENTS


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("number", range(COMMITS))
async def test_a_commit_that_fails_once_doubles_nothing_and_loses_nothing(
    tmp_path: Path, fault: Fault, number: int
) -> None:
    pair = tools()
    async with rigged(tmp_path, script(), *pair) as rig:
        rig.store.fault_of = {number: fault}
        result, events = await rig.outlast(rig.ended(await rig.start()), most_s=2)
        assert len(rig.store.commits) == COMMITS + 1
        row = await rig.runtime.status(result.run_id)
    assert rig.clock.monotonic() > 0
    assert (result.status, result.text, result.recorded) == (RunStatus.COMPLETED, "two", True)
    assert len(events) == EVENTS
    assert [held.runs for held in pair] == [1, 1]
    assert row.tool_calls == 2
    assert result.usage == Usage(2, 200, 40)


@pytest.mark.parametrize("fault", list(Fault))
async def test_commits_that_all_fail_once_double_nothing(tmp_path: Path, fault: Fault) -> None:
    pair = tools(Effect.UNSAFE)
    async with rigged(tmp_path, script(), *pair) as rig:
        rig.store.fault_of = dict.fromkeys(range(10), fault)
        result, events = await rig.outlast(rig.ended(await rig.start()), most_s=5)
    assert result.status is RunStatus.COMPLETED
    assert len(events) == EVENTS
    assert [held.runs for held in pair] == [1, 1]


@pytest.mark.parametrize("level", [BOUNDARY, ABORT])
@pytest.mark.parametrize("number", range(COMMITS))
async def test_a_stop_between_a_lost_answer_and_its_repetition_leaves_no_open_step(
    tmp_path: Path, number: int, level: CancelLevel
) -> None:
    pair = tools()
    async with rigged(tmp_path, script(), *pair) as rig:
        rig.store.fault_of = {number: Fault.AFTER}
        run = await rig.start()
        # Its repetition waits for the clock.
        await until(lambda: rig.store.answers_lost)
        receipt = await rig.elsewhere.cancel(run.id, level=level, by="x", reason="", at_us=7)
        result, events = await rig.outlast(rig.ended(run), most_s=2)
    last = number == COMMITS - 1
    assert result.status is (RunStatus.COMPLETED if last else RunStatus.CANCELLED)
    if last:
        assert not receipt.changed
        return
    asked = kinds(events).index("cancel_requested")
    named = {item.step for item in receipt.in_flight}
    after = [event for event in events[asked:] if isinstance(event, Response | Tool)]
    assert {event.step for event in after} == named
    # It was stored that they may begin, and they never did.
    unsent = [event for event in after if not event.executed]
    assert [event.outcome for event in unsent] == [StepOutcome.INTERRUPTED] * len(unsent)
    if number in (0, 3):
        assert isinstance(unsent[0], Response)
        assert len(rig.provider.requests) == number // 3
    assert only(events, Cancelled).receipt.usage_after_request == Usage()


async def test_an_outage_shorter_than_30_s_delays_the_run_and_starts_nothing_meanwhile(
    tmp_path: Path,
) -> None:
    pair = tools()
    turns = [Turn("one", calls=[("a", "{}")], hold=True), Turn("two")]
    async with rigged(tmp_path, turns, *pair) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        rig.store.down = True
        rig.provider.release()
        await rig.pass_time(29, step=0.5)
        assert run.id in rig.runtime.live
        assert (pair[0].runs, len(rig.provider.requests)) == (0, 1)
        rig.store.down = False
        result, _ = await rig.outlast(rig.ended(run), most_s=2)
    assert (result.status, result.text) == (RunStatus.COMPLETED, "two")
    assert pair[0].runs == 1


async def lose_the_end(rig: Rig) -> str:
    """Run a script whose answer comes while the store is down, past its patience."""
    run = await rig.start()
    await until(rig.provider.holding.is_set)
    rig.store.down = True
    rig.provider.release()
    result = await rig.outlast(run.wait(), most_s=40)
    assert (result.outcome, result.status) == (Outcome.FAILED, RunStatus.FAILED)
    assert result.termination_reason is TerminationReason.STORE_UNAVAILABLE
    assert (result.recorded, result.text, result.receipt) == (False, "the answer", None)
    assert result.error is not None
    assert result.error.code == "store_unavailable"
    assert result.usage == Usage(1, 100, 20)
    assert 29 < rig.clock.monotonic() < 31
    assert rig.runtime.live == ()
    return run.id


async def closed(rig: Rig, run_id: str) -> list[Event]:
    while (await rig.runtime.status(run_id)).closed_us is None:
        await rig.pass_time(0.5, step=0.5)
    events = await rig.events(run_id)
    assert faults_of(events) == []
    return events


@pytest.mark.parametrize("calls", [[], [("a", "{}")]])
async def test_a_longer_outage_fails_the_run_and_loses_no_answer(
    tmp_path: Path, calls: list[tuple[str, str]]
) -> None:
    pair = tools()
    async with rigged(tmp_path, [Turn("the answer", calls=calls, hold=True)], *pair) as rig:
        run_id = await lose_the_end(rig)
        assert pair[0].runs == 0
        rig.store.down = False
        events = await closed(rig, run_id)
        later = await rig.runtime.handle(run_id).wait()
    failed = only(events, Failed)
    assert failed.termination_reason is TerminationReason.STORE_UNAVAILABLE
    assert (failed.text, later.text, later.recorded) == ("the answer", "the answer", True)
    assert only(events, Response).outcome is StepOutcome.OK
    assert every(events, Tool) == []


async def test_side_by_side_tools_wait_for_the_same_outage_together(tmp_path: Path) -> None:
    trio = [HeldTool(name=name) for name in "abc"]
    turns = [Turn("the answer", calls=[(name, "{}") for name in "abc"])]
    async with rigged(tmp_path, turns, *trio) as rig:
        run = await rig.start()
        await until(lambda: all(held.runs for held in trio))
        rig.store.down = True
        for held in trio:
            held.release()
        result = await rig.outlast(run.wait(), most_s=100)
        assert result.termination_reason is TerminationReason.STORE_UNAVAILABLE
        assert rig.clock.monotonic() < 31
        rig.store.down = False
        events = await closed(rig, run.id)
    assert [event.outcome for event in every(events, Tool)] == [StepOutcome.OK] * 3


async def test_an_intent_whose_answer_never_came_back_is_closed_as_never_begun(
    tmp_path: Path,
) -> None:
    held = HeldTool(name="a")
    turns = [Turn("the answer", calls=[("a", "{}")], hold=True)]
    async with rigged(tmp_path, turns, held) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        rig.store.fault_of = {1: Fault.AFTER}
        rig.provider.release()
        await until(lambda: rig.store.answers_lost)
        rig.store.down = True
        result = await rig.outlast(run.wait(), most_s=40)
        assert not result.recorded
        rig.store.down = False
        events = await closed(rig, run.id)
    assert held.runs == 0
    found = only(events, Tool)
    assert (found.executed, found.outcome) == (False, StepOutcome.INTERRUPTED)
    assert only(events, Response).outcome is StepOutcome.OK


async def test_a_stop_that_was_acknowledged_before_a_long_outage_ends_cancelled(
    tmp_path: Path,
) -> None:
    async with rigged(tmp_path, [Turn("the answer", hold=True)]) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        assert (await run.cancel(by="ada")).durable
        rig.store.down = True
        rig.provider.release()
        result = await rig.outlast(run.wait(), most_s=40)
        assert (result.status, result.recorded) == (RunStatus.FAILED, False)
        rig.store.down = False
        events = await closed(rig, run.id)
    assert only(events, Cancelled).receipt.requested_by == "ada"
    assert only(events, Cancelled).text == "the answer"


async def test_a_stop_does_not_wait_for_a_store_that_hangs(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("the answer", hold=True)]) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        rig.store.handed_in.shut()
        stop = asyncio.create_task(run.cancel(by="ada"))
        await until(lambda: rig.store.handed_in.waiting == 1)
        rig.clock.advance(0.249)
        await settle()
        assert not stop.done()
        rig.clock.advance(0.001)
        receipt = await stop
        assert (receipt.changed, receipt.durable, receipt.why) == (True, False, "")
        assert (receipt.status_before, receipt.level) == ("running", BOUNDARY)
        assert receipt.in_flight == (InFlight("1.2", "request", "m"),)
        again = asyncio.create_task(run.cancel(by="ada"))
        await settle()
        rig.clock.advance(0.25)
        assert ((await again).changed, (await again).durable) == (False, False)
        assert (await again).why == "already requested at this level"
        assert (await again).status_before == "cancelled"
        harder = asyncio.create_task(run.cancel(ABORT, by="ada"))
        await settle()
        rig.clock.advance(0.25)
        assert ((await harder).changed, (await harder).level) == (True, ABORT)
        # The body has ended by its signal; its end waits for the store.
        await until(lambda: not rig.provider.holding.is_set())
        assert run.id in rig.runtime.live
        rig.clock.advance(100)
        await settle()
        assert run.id in rig.runtime.live
        rig.store.handed_in.open()
        result, events = await rig.ended(run)
    assert result.status is RunStatus.CANCELLED
    assert result.receipt is not None
    assert (result.receipt.level, result.receipt.requested_by) == (ABORT, "ada")
    assert only(events, Response).outcome is StepOutcome.INTERRUPTED
    assert len(every(events, Request)) == 1


async def test_a_stop_during_an_outage_is_written_once_it_is_over(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("the answer", hold=True)]) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        rig.store.down = True
        asked_us = rig.clock.now_us()
        receipt = await rig.outlast(run.cancel(by="ada"), most_s=1)
        assert (receipt.changed, receipt.durable) == (True, False)
        rig.provider.release()
        await rig.pass_time(20, step=0.5)
        rig.store.down = False
        result, _ = await rig.outlast(rig.ended(run), most_s=2)
    assert result.status is RunStatus.CANCELLED
    assert result.receipt is not None
    assert (result.receipt.requested_by, result.receipt.requested_at_us) == ("ada", asked_us)


async def test_a_stop_between_attempts_does_not_make_an_outage_longer(tmp_path: Path) -> None:
    busy = ProviderError("Busy", failure_class=FailureClass.RATE_LIMIT, retry_after=50.0)
    async with rigged(tmp_path, [Turn(error=busy)]) as rig:
        run = await rig.start()
        await rig.recorded(Response)
        rig.store.down = True
        await rig.outlast(run.cancel(by="ada"), most_s=1)
        result = await rig.outlast(run.wait(), most_s=31)
        assert (result.status, result.recorded) == (RunStatus.FAILED, False)
        assert result.termination_reason is TerminationReason.STORE_UNAVAILABLE
        rig.store.down = False
        await rig.outlast(rig.recorded(Failed), most_s=3)


async def test_an_end_that_the_store_refuses_for_good_is_reported_and_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with rigged(tmp_path, [Turn("the answer", usage=Usage(1, 2**63, 0))]) as rig:
        run = await rig.start()
        result = await asyncio.wait_for(run.wait(), 10)
        assert (result.status, result.recorded) == (RunStatus.FAILED, False)
        assert result.termination_reason is TerminationReason.NOT_RETRYABLE
        events = await closed(rig, run.id)
    assert only(events, Failed).termination_reason is TerminationReason.ABANDONED
    assert only(events, Response).outcome is StepOutcome.UNKNOWN
    assert "A run failed inside the runtime" in caplog.text
