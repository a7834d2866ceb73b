"""What a runtime promises about beginning, ending and handing out runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.errors import StoreUnavailable, UsageError
from core.model import Cancelled, CancelLevel, RunStatus, TerminationReason
from core.model.codec import to_json
from core.store import Commit
from tests.core.runs.rig import faults_of, only, rigged
from tests.core.store.builders import begin, model_step, request
from tests.fakes.held_tool import HeldTool
from tests.fakes.provider import Turn
from tests.support.runtime import open_store
from tests.support.waiting import until


async def test_a_run_is_live_until_it_is_closed(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True), Turn("y", hold=True)]) as rig:
        assert not rig.runtime.live
        one, two = await rig.start(), await rig.start()
        assert list(rig.runtime.live) == [one.id, two.id]
        await until(rig.provider.holding.is_set)
        assert [row.run_id for row in await rig.runtime.runs()] == [two.id, one.id]
        await one.cancel(CancelLevel.ABORT)
        await rig.ended(one)
        assert list(rig.runtime.live) == [two.id]
        await two.cancel(CancelLevel.ABORT)
        await rig.ended(two)
        assert not rig.runtime.live


async def test_a_stream_reads_the_same_live_and_from_the_store(tmp_path: Path) -> None:
    turns = [Turn("let me see", calls=[("held", "{}")]), Turn("done")]
    held = HeldTool()
    held.release()
    async with rigged(tmp_path, turns, held) as rig:
        _, events = await rig.ended(await rig.start(temperature=0.5))
        assert rig.published == events
        assert [to_json(event) for event in rig.published] == [to_json(event) for event in events]


async def test_two_tools_of_a_name_are_found_when_the_runtime_opens(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="same name"):
        async with rigged(tmp_path, [], HeldTool(), HeldTool()):
            raise AssertionError


async def test_run_returns_what_wait_returns_as_often_as_it_is_asked(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x"), Turn("x")]) as rig:
        result = await rig.runtime.run(rig.request())
        again = await rig.runtime.handle(result.run_id).wait()
        run = await rig.start()
        results = await asyncio.gather(*(run.wait() for _ in range(5)))
    assert result == again
    assert len(set(map(repr, results))) == 1


async def test_leaving_an_attached_block_early_cancels_the_run(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True)]) as rig:
        with pytest.raises(LookupError):
            async with rig.runtime.attach(rig.request()) as run:
                await until(rig.provider.holding.is_set)
                rig.provider.release()
                raise LookupError
        assert not rig.runtime.live
        events = await rig.events(run)
        row = await rig.runtime.status(run.id)
    assert faults_of(events) == []
    assert row.status is RunStatus.CANCELLED
    assert only(events, Cancelled).receipt.reason == "its block was left"


async def test_a_cancelled_attached_block_cancels_the_run_and_stays_cancelled(
    tmp_path: Path,
) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True)]) as rig:

        async def attached() -> None:
            async with rig.runtime.attach(rig.request()) as run:
                await run.wait()

        task = asyncio.create_task(attached())
        await until(rig.provider.holding.is_set)
        task.cancel()
        await rig.recorded_cancel()
        rig.provider.release()
        with pytest.raises(asyncio.CancelledError):
            await task
        (row,) = await rig.runtime.runs()
        assert row.status is RunStatus.CANCELLED
        assert row.closed_us is not None


async def test_an_attached_run_that_ends_by_itself_is_left_alone(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x")]) as rig:
        async with rig.runtime.attach(rig.request()) as run:
            await rig.ended(run)
        assert (await rig.runtime.status(run.id)).status is RunStatus.COMPLETED


async def test_a_store_that_takes_no_run_starts_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x")]) as rig:

        async def refuse(*_: object) -> None:
            raise StoreUnavailable("The disk is full")

        rig.store.create_run = refuse  # type: ignore[attr-defined]
        with pytest.raises(StoreUnavailable):
            await rig.start()
        assert not rig.runtime.live
        assert rig.provider.requests == []
        assert await rig.runtime.runs() == []


async def test_a_start_that_is_cancelled_leaves_no_run_open(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x")]) as rig:
        create = rig.store.inner.create_run
        stored = asyncio.Event()

        async def slow(*given: object) -> object:
            claim = await create(*given)  # type: ignore[arg-type]
            stored.set()
            await asyncio.Event().wait()
            return claim

        rig.store.create_run = slow  # type: ignore[attr-defined]
        starting = asyncio.create_task(rig.start())
        await stored.wait()
        await rig.pass_time(3, step=0.5)
        (row,) = await rig.runtime.runs()
        assert row.status is RunStatus.RUNNING
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        result = await rig.outlast(rig.runtime.handle(row.run_id).wait(), most_s=3)
    assert result.termination_reason is TerminationReason.ABANDONED
    assert rig.provider.requests == []


async def test_nothing_starts_in_a_runtime_that_closes(tmp_path: Path) -> None:
    held = HeldTool()
    async with rigged(tmp_path, [Turn(calls=[("held", "{}")]), Turn("never")], held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        create = rig.store.inner.create_run
        stored, go_on = asyncio.Event(), asyncio.Event()

        async def slow(*given: object) -> object:
            claim = await create(*given)  # type: ignore[arg-type]
            stored.set()
            await go_on.wait()
            return claim

        rig.store.create_run = slow  # type: ignore[attr-defined]
        starting = asyncio.create_task(rig.start())
        await stored.wait()
        closing = asyncio.create_task(rig.runtime.close())
        await rig.recorded_cancel()
        with pytest.raises(UsageError, match="closing"):
            await rig.start()
        go_on.set()
        with pytest.raises(UsageError, match="closing"):
            await starting
        held.release()
        await closing
        result = await run.wait()
    assert result.status is RunStatus.CANCELLED
    assert len(rig.provider.requests) == 1
    async with rigged(tmp_path) as rig:
        assert {row.status for row in await rig.runtime.runs()} == {
            RunStatus.CANCELLED,
            RunStatus.FAILED,
        }


async def test_a_store_that_is_busy_does_not_keep_a_runtime_from_opening(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "runs.db", synchronous="normal")
    claim = await begin(store, "r1")
    await store.commit(
        Commit(claim=claim, intents=(request("s1", "r1"),), opened_steps=(model_step("s1"),))
    )
    await store.close()
    async with rigged(tmp_path, down=True) as rig:
        assert (await rig.runtime.status("r1")).status is RunStatus.RUNNING
        rig.store.down = False
        result = await rig.outlast(rig.runtime.handle("r1").wait(), most_s=3)
    assert result.termination_reason is TerminationReason.ABANDONED


async def test_a_handle_reads_nothing_until_it_is_asked(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True)]) as rig:
        run = await rig.start()
        handle = rig.runtime.handle(run.id)
        await until(rig.provider.holding.is_set)
        assert (await handle.status()).status is RunStatus.RUNNING
        assert (await handle.cancel(CancelLevel.ABORT)).changed
        assert (await handle.wait()).status is RunStatus.CANCELLED
