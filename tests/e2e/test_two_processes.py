"""A process stops the runs of another one; the demo server says what that saved."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core import CancelLevel, CancelReceipt, Runtime, open_runtime
from core.model import Cancelled, CancelRequested, Event, Request, Response, StepOutcome, Usage
from tests.core.runs.rig import every, faults_of, only
from tests.e2e.cli_process import demo_server, environment, stats
from tests.e2e.driver import Driver, driver

RUNS = 12


@asynccontextmanager
async def other_process(
    folder: Path, pace: float, monkeypatch: pytest.MonkeyPatch, *argv: str
) -> AsyncIterator[tuple[Runtime, Driver, str]]:
    """Give a runtime here, a process that drives runs, and the server they share."""
    with demo_server(folder, pace=pace) as url:
        for name, value in environment(folder, PLAYGROUND_DEMO_URL=url).items():
            monkeypatch.setenv(name, value)
        async with (
            open_runtime(folder / "runs.db") as runtime,
            driver(folder, url, *argv) as child,
        ):
            yield runtime, child, url


async def replay(runtime: Runtime, run_id: str) -> list[Event]:
    async with runtime.events(run_id) as events:
        return [event async for event in events]


async def requests_of(url: str, run_id: str) -> list[dict[str, Any]]:
    asked = await asyncio.to_thread(stats, url)
    return [request for request in asked if request["run_id"] == run_id]


async def test_a_stop_through_the_row_starts_nothing_that_it_does_not_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(5)
    async with other_process(tmp_path, 0.02, monkeypatch, "drive", "loop", str(RUNS)) as (
        runtime,
        child,
        url,
    ):
        run_ids = [line[0] for line in await child.said(RUNS, "run")]
        # Each has gone through a few rounds.
        await child.said(RUNS * 8, "event")
        receipts: dict[str, tuple[CancelReceipt, int]] = {}

        async def stop(run_id: str) -> None:
            await asyncio.sleep(dice.random() * 0.5)
            receipt = await runtime.cancel(run_id, by="the other")
            receipts[run_id] = receipt, time.monotonic_ns()

        await asyncio.gather(*map(stop, run_ids))
        results = [await runtime.handle(run_id).wait() for run_id in run_ids]
        assert await child.end() == 0
        late = listed = 0
        for run_id, result in zip(run_ids, results, strict=True):
            receipt, acknowledged_ns = receipts[run_id]
            assert receipt.changed
            events = await replay(runtime, run_id)
            assert faults_of(events) == []
            assert only(events, Cancelled) == events[-1]
            assert only(events, CancelRequested).by == "the other"
            assert result.receipt is not None
            assert result.receipt.usage_after_request == Usage()
            asked = only(events, CancelRequested).seq or 0
            sent = every(events, Request)
            assert [event for event in sent if (event.seq or 0) > asked] == []
            named = {item.step for item in receipt.in_flight}
            served = [item for item in await requests_of(url, run_id) if item["kind"] == "model"]
            assert len(served) <= len(sent)
            for intent, request in zip(sent, served, strict=False):
                if request["at_ns"] > acknowledged_ns:
                    assert intent.step in named
                    late += 1
            listed += len(named)
            assert {request["end"] for request in served} == {"complete"}
    print(f"\n{RUNS} stops: {listed} steps in flight, {late} of them reached the server later")


async def test_an_abort_through_the_row_closes_the_socket_of_the_other_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []
    async with other_process(tmp_path, 1.0, monkeypatch, "drive", "essay", str(RUNS)) as (
        runtime,
        child,
        url,
    ):
        run_ids = [line[0] for line in await child.said(RUNS, "run")]
        for run_id in run_ids:
            while not any(request["tokens"] for request in await requests_of(url, run_id)):
                await asyncio.sleep(0.005)
            began = time.monotonic()
            receipt = await runtime.cancel(run_id, CancelLevel.ABORT, by="the other")
            assert [item.kind for item in receipt.in_flight] == ["request"]
            while (await requests_of(url, run_id))[0]["end"] is None:
                assert time.monotonic() < began + 10
            delays.append((time.monotonic() - began) * 1_000)
        results = [await runtime.handle(run_id).wait() for run_id in run_ids]
        assert await child.end() == 0
        for run_id, result in zip(run_ids, results, strict=True):
            (request,) = await requests_of(url, run_id)
            assert request["end"] == "disconnected"
            assert request["tokens"] < 3_000
            assert result.receipt is not None
            assert len(result.receipt.calls_aborted) == 1
            assert result.receipt.credentials_exposed == ("demo",)
            assert result.text
        partial = [only(await replay(runtime, run_id), Response) for run_id in run_ids]
    assert {response.outcome for response in partial} == {StepOutcome.INTERRUPTED}
    assert [response.text for response in partial] == [result.text for result in results]
    print(
        f"\ncancel() called here -> the server saw the other process's socket close, ms: "
        f"p50 {statistics.median(delays):.1f}, max {max(delays):.1f} of {len(delays)}"
    )
