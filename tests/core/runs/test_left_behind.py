"""Runs whose process died, was mistaken for dead, or left damage behind."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.model import (
    Cancelled,
    CancelLevel,
    Event,
    Failed,
    InFlight,
    Outcome,
    Request,
    Response,
    RunRow,
    RunStatus,
    Started,
    StepOutcome,
    TerminationReason,
    Tool,
    ToolStarted,
    Usage,
)
from core.store import Commit, SqliteStore
from tests.core.runs.rig import faults_of, kinds, only, rigged
from tests.core.store.builders import begin, model_step, request, response, tool_started
from tests.fakes.held_tool import HeldTool
from tests.fakes.provider import Turn
from tests.support.runtime import open_store
from tests.support.waiting import until

ABORT, BOUNDARY = CancelLevel.ABORT, CancelLevel.BOUNDARY


@asynccontextmanager
async def dead_process(path: Path) -> AsyncIterator[SqliteStore]:
    """Give a store that is as a killed process leaves it, once the block is left."""
    store = await open_store(path / "runs.db", synchronous="normal")
    yield store
    await store.close()


async def stream(path: Path, run_id: str) -> tuple[RunRow, list[Event]]:
    async with rigged(path) as rig:
        events = await rig.events(run_id)
        assert faults_of(events) == []
        return await rig.runtime.status(run_id), events


async def test_a_dead_process_run_is_closed_by_whoever_opens_the_store(tmp_path: Path) -> None:
    async with dead_process(tmp_path) as store:
        claim = await begin(store, "r1")
        await store.commit(
            Commit(claim=claim, intents=(request("s1", "r1"),), opened_steps=(model_step("s1"),))
        )
    row, events = await stream(tmp_path, "r1")
    assert (row.status, row.termination_reason) == (RunStatus.FAILED, TerminationReason.ABANDONED)
    assert (row.owner, row.open_steps) == (None, ())
    assert kinds(events) == ["started", "request", "response", "failed"]
    found = only(events, Response)
    assert (found.outcome, found.executed) == (StepOutcome.UNKNOWN, True)
    assert found.usage == Usage(1, estimated=True) == row.usage
    assert only(events, Failed).error.code == "abandoned"


async def test_a_cancel_that_was_acknowledged_is_kept(tmp_path: Path) -> None:
    async with dead_process(tmp_path) as store:
        claim = await begin(store, "r1")
        await store.commit(Commit(claim=claim, intents=(request("s0", "r1"),)))
        await store.commit(
            Commit(
                claim=claim,
                outcomes=(response("s0", "r1", text="so far"),),
                intents=(tool_started("s1", "r1"),),
                opened_steps=(InFlight("s1", "tool_started", "pay"),),
            )
        )
        await store.cancel("r1", level=ABORT, by="ada", reason="stop", at_us=5)
    row, events = await stream(tmp_path, "r1")
    assert (row.status, row.termination_reason) == (
        RunStatus.CANCELLED,
        TerminationReason.CANCELLED,
    )
    receipt = only(events, Cancelled).receipt
    assert (receipt.requested_by, receipt.level, receipt.reason) == ("ada", ABORT, "stop")
    assert receipt.left_running == (InFlight("s1", "tool_started", "pay"),)
    assert receipt.boundary == "s1"
    assert receipt.usage_after_request == Usage()
    assert only(events, Cancelled).text == "so far"
    assert only(events, Tool).outcome is StepOutcome.UNKNOWN


async def test_what_was_closed_before_stays_as_it_was(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("done")]) as rig:
        run = await rig.start()
        _, events = await rig.ended(run)
    assert (await stream(tmp_path, run.id))[1] == events


async def test_a_live_process_keeps_its_run(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True)]) as rig, rigged(tmp_path) as other:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        await other.pass_time(3, step=0.5)
        assert (await other.runtime.status(run.id)).status is RunStatus.RUNNING
        rig.provider.release()
        result, _ = await rig.ended(run)
    assert result.status is RunStatus.COMPLETED


async def test_a_run_is_closed_while_a_runtime_is_open_too(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        async with dead_process(tmp_path) as store:
            await begin(store, "r1")
            await rig.pass_time(2, step=0.5)
            assert (await rig.runtime.status("r1")).status is RunStatus.RUNNING
        result = await rig.outlast(rig.runtime.handle("r1").wait(), most_s=3)
    assert result.termination_reason is TerminationReason.ABANDONED


@pytest.mark.parametrize("cancelled", [False, True])
async def test_an_owner_that_was_taken_for_dead_stops_and_tells_the_truth(
    tmp_path: Path, cancelled: bool
) -> None:
    held = HeldTool()
    async with rigged(tmp_path, [Turn(calls=[("held", "{}")]), Turn("never")], held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        if cancelled:
            await rig.elsewhere.cancel(run.id, level=BOUNDARY, by="x", reason="", at_us=7)
        for lock in tmp_path.rglob(f"{rig.store.owner}.lock"):
            lock.unlink()
        async with rigged(tmp_path):
            pass
        held.release()
        result = await rig.outlast(run.wait(), most_s=1)
        events = await rig.events(run)
    assert faults_of(events) == []
    assert len(rig.provider.requests) == 1
    assert result.outcome is (Outcome.CANCELLED if cancelled else Outcome.LEASE_LOST)
    assert result.status is (RunStatus.CANCELLED if cancelled else RunStatus.FAILED)
    assert (result.receipt is not None) is cancelled
    assert only(events, Tool).outcome is StepOutcome.UNKNOWN


def damage(path: Path, sql: str) -> None:
    with sqlite3.connect(path / "runs.db") as connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'event'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(sql)
    connection.close()


async def test_a_damaged_run_keeps_no_other_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with dead_process(tmp_path) as store:
        for run_id in ("r1", "r2"):
            await begin(store, run_id)
    damage(tmp_path, "UPDATE event SET body = '[\"s3cret\"]' WHERE run_id = 'r1'")
    async with rigged(tmp_path, [Turn("new")]) as rig:
        assert (await rig.runtime.status("r2")).status is RunStatus.FAILED
        assert (await rig.runtime.status("r1")).status is RunStatus.RUNNING
        await rig.pass_time(3, step=0.5)
        result, _ = await rig.ended(await rig.start())
    assert result.text == "new"
    assert caplog.text.count("Run r1 cannot be closed") == 1
    assert "s3cret" not in caplog.text


async def test_a_run_created_and_never_driven_is_closed_by_its_own_process(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        row = RunRow(
            run_id="r1",
            status=RunStatus.RUNNING,
            termination_reason=None,
            model="m",
            prompt="go",
            created_us=1,
            updated_us=1,
            closed_us=None,
            owner=rig.store.owner,
            claim=1,
            next_seq=1,
            round=0,
            tool_calls=0,
            usage=Usage(),
        )
        await rig.store.create_run(row, Started(run_id="r1", at_us=1, model="m", request={}))
        result = await rig.outlast(rig.runtime.handle("r1").wait(), most_s=3)
    assert result.termination_reason is TerminationReason.ABANDONED


async def test_many_runtimes_close_a_run_once(tmp_path: Path) -> None:
    async with dead_process(tmp_path) as store:
        claim = await begin(store, "r1")
        await store.commit(
            Commit(
                claim=claim,
                intents=(request("s1", "r1"),),
                opened_steps=(model_step("s1"),),
            )
        )
    async with rigged(tmp_path) as one, rigged(tmp_path), rigged(tmp_path):
        events = await one.events("r1")
    assert faults_of(events) == []
    assert len([event for event in events if isinstance(event, Request | ToolStarted)]) == 1
