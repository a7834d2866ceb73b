"""A stop between steps, of other processes' runs, of closed and unknown ones, and many at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.errors import ProviderError, UnknownRun
from core.model import (
    AuditAction,
    Cancelled,
    CancelLevel,
    CancelRequested,
    Effect,
    InFlight,
    Response,
    RunStatus,
    StepOutcome,
    Usage,
)
from core.store import AuditQuery
from tests.core.runs.rig import every, faults_of, kinds, only, rigged
from tests.fakes.held_tool import HeldTool
from tests.fakes.provider import Turn
from tests.support.waiting import until

ABORT, BOUNDARY = CancelLevel.ABORT, CancelLevel.BOUNDARY


def busy(seconds: float) -> ProviderError:
    return ProviderError("Slow down.", failure_class="rate_limit", retry_after=seconds)


@pytest.mark.parametrize("level", [BOUNDARY, ABORT])
async def test_a_stop_while_backing_off_ends_the_run_at_once(
    tmp_path: Path, level: CancelLevel
) -> None:
    async with rigged(tmp_path, [Turn(error=busy(30)), Turn("never")]) as rig:
        run = await rig.start()
        await rig.recorded(Response)
        assert (await rig.runtime.status(run.id)).open_steps == ()
        receipt = await run.cancel(level)
        result, events = await rig.ended(run)
    assert rig.clock.monotonic() == 0
    assert receipt.in_flight == ()
    assert kinds(events)[-2:] == ["cancel_requested", "cancelled"]
    assert len(rig.provider.requests) == 1
    assert result.receipt is not None
    assert result.receipt.boundary is None
    assert result.receipt.usage_in_flight == Usage()


async def test_a_stop_from_elsewhere_while_backing_off_needs_no_attempt(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn(error=busy(30)), Turn("never")]) as rig:
        run = await rig.start()
        await rig.recorded(Response)
        await rig.elsewhere.cancel(run.id, level=BOUNDARY, by="x", reason="", at_us=7)
        result, _ = await rig.outlast(rig.ended(run), most_s=1)
    assert rig.clock.monotonic() < 1
    assert result.status is RunStatus.CANCELLED
    assert len(rig.provider.requests) == 1


async def test_a_boundary_stop_during_a_call_that_fails_makes_no_second_attempt(
    tmp_path: Path,
) -> None:
    async with rigged(tmp_path, [Turn(error=busy(1), hold=True), Turn("never")]) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        await run.cancel()
        rig.provider.release()
        result, events = await rig.ended(run)
    assert rig.clock.monotonic() == 0
    assert result.status is RunStatus.CANCELLED
    assert only(events, Response).outcome is StepOutcome.ERROR


async def test_a_call_that_fails_for_good_under_a_stop_ends_cancelled(tmp_path: Path) -> None:
    refused = ProviderError("No.", failure_class="auth")
    async with rigged(tmp_path, [Turn(error=refused, hold=True)]) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        await run.cancel()
        rig.provider.release()
        result, _ = await rig.ended(run)
    assert (result.status, result.error) == (RunStatus.CANCELLED, None)


async def test_a_closed_run_stays_as_it_is(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("done")]) as rig:
        run = await rig.start()
        _, before = await rig.ended(run)
        receipt = await run.cancel(ABORT)
        assert (receipt.changed, receipt.why) == (False, "already completed")
        assert (receipt.status_before, receipt.in_flight) == ("completed", ())
        assert await rig.events(run) == before


async def test_a_failed_run_says_so(tmp_path: Path) -> None:
    refused = ProviderError("No.", failure_class="auth")
    async with rigged(tmp_path, [Turn(error=refused)]) as rig:
        run = await rig.start()
        await rig.ended(run)
        assert (await run.cancel()).why == "already failed"


async def test_an_unknown_run_is_an_error(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        with pytest.raises(UnknownRun):
            await rig.runtime.cancel("no-such-run")
        with pytest.raises(UnknownRun):
            await rig.runtime.handle("no-such-run").cancel()


async def test_another_process_stops_a_run_through_its_row(tmp_path: Path) -> None:
    held = HeldTool()
    async with (
        rigged(tmp_path, [Turn(calls=[("held", "{}")])], held) as rig,
        rigged(tmp_path) as other,
    ):
        run = await rig.start()
        await until(lambda: held.runs)
        receipt = await other.runtime.cancel(run.id, ABORT, by="bob", reason="too long")
        assert (receipt.changed, receipt.durable) == (True, True)
        assert receipt.in_flight == (InFlight("1.3", "tool_started", "held"),)
        result, events = await rig.outlast(rig.ended(run), most_s=1)
    assert rig.clock.monotonic() < 1
    assert held.ended == 1
    assert result.receipt is not None
    assert (result.receipt.requested_by, result.receipt.reason) == ("bob", "too long")
    assert only(events, CancelRequested).in_flight == receipt.in_flight


async def test_a_step_of_another_process_may_still_begin_if_it_was_listed(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("sent")]) as rig:
        rig.store.answered.shut()
        run = await rig.start()
        await until(lambda: rig.store.answered.waiting, "the intent")
        receipt = await rig.elsewhere.cancel(run.id, level=BOUNDARY, by="x", reason="", at_us=7)
        rig.store.answered.open()
        result, events = await rig.ended(run)
    assert [item.step for item in receipt.in_flight] == [only(events, Response).step]
    assert result.receipt is not None
    assert result.receipt.usage_after_request == Usage()
    assert result.receipt.usage_in_flight == Usage(1, 100, 20)


async def test_many_stops_at_once_change_the_run_once_a_level(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True)]) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        levels = [BOUNDARY, ABORT] * 6
        stops = [
            rig.elsewhere.cancel(run.id, level=level, by=str(number), reason="", at_us=number)
            for number, level in enumerate(levels)
        ] + [run.cancel(level, by=f"here {number}") for number, level in enumerate(levels)]
        receipts = await asyncio.gather(*stops)
        result, events = await rig.ended(run)
        log = await rig.elsewhere.audit_page(
            AuditQuery(actions=(AuditAction.RUN_CANCEL_REQUESTED,)), limit=100
        )
    asked = every(events, CancelRequested)
    won = [receipt for receipt in receipts if receipt.changed]
    assert [item.level for item in asked] == sorted({item.level for item in asked})
    assert asked[-1].level is ABORT
    assert len(won) == len(asked) == len(log)
    assert sorted(item.actor for item in log) == sorted(item.by for item in asked)
    assert {r.why for r in receipts if not r.changed} <= {
        "already requested at this level",
        "already cancelled",
    }
    assert only(events, Cancelled) == events[-1]
    assert result.receipt is not None
    assert result.receipt.level is ABORT
    assert result.receipt.requested_by == asked[0].by


async def test_leaving_the_runtime_stops_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.runs.supervisor._GRACE_S", 0.05)
    held = HeldTool()
    async with rigged(tmp_path, [Turn(calls=[("held", "{}")])], held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        waiter = asyncio.create_task(run.wait())
    result = await waiter
    assert (result.status, result.recorded) == (RunStatus.CANCELLED, True)
    assert result.receipt is not None
    assert (result.receipt.reason, result.receipt.level) == ("the program ended", ABORT)
    async with rigged(tmp_path) as rig:
        assert faults_of(await rig.events(run)) == []


async def test_leaving_the_runtime_does_not_wait_for_ever_for_a_shielded_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.runs.supervisor._GRACE_S", 0.02)
    held = HeldTool(effect=Effect.UNSAFE)
    async with rigged(tmp_path, [Turn(calls=[("held", "{}")])], held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        waiter = asyncio.create_task(run.wait())
    result = await waiter
    assert (result.status, result.recorded) == (RunStatus.CANCELLED, False)
    async with rigged(tmp_path) as rig:
        events = await rig.events(run)
        assert faults_of(events) == []
        receipt = only(events, Cancelled).receipt
        assert [item.name for item in receipt.left_running] == ["held"]
