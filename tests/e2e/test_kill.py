"""Processes that are killed at random points while they drive and cancel runs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from core import AuditQuery, Runtime, open_runtime
from core.model import (
    CancelRequested,
    Event,
    Failed,
    Response,
    RunRow,
    RunStatus,
    StepOutcome,
    TerminationReason,
    Tool,
)
from tests.core.runs.rig import every, faults_of
from tests.e2e.cli_process import demo_server, environment
from tests.e2e.driver import Driver, driver

AT_ONCE = 4
SIDE_BY_SIDE = 4
MOST_LINES = 250


async def killed(folder: Path, url: str, seed: int) -> Driver:
    """Let a process drive runs, kill it at a point of the seed; return what it had said."""
    dice = random.Random(seed)
    async with driver(folder, url, "spree", str(seed), str(SIDE_BY_SIDE)) as child:
        await child.said(dice.randrange(1, MOST_LINES))
        await asyncio.sleep(dice.random() * 0.01)
        child.kill()
        assert await child.end() < 0
        return child


async def all_runs(runtime: Runtime) -> list[RunRow]:
    rows: list[RunRow] = []
    while True:
        page = await runtime.runs(limit=500, before=rows[-1].run_id if rows else None)
        rows.extend(page)
        if len(page) < 500:
            return rows


async def replay(runtime: Runtime, run_id: str) -> list[Event]:
    async with runtime.events(run_id) as events:
        return [event async for event in events]


def check_run(row: RunRow, events: Sequence[Event]) -> bool:
    """Check one closed run; return whether it had been left open."""
    assert row.closed_us is not None
    assert (row.open_steps, row.owner, row.next_seq) == ((), None, len(events))
    assert faults_of(events) == []
    asked = every(events, CancelRequested)
    assert (row.status is RunStatus.CANCELLED) == bool(asked)
    abandoned = row.termination_reason is TerminationReason.ABANDONED
    assert abandoned == any(
        event.termination_reason is TerminationReason.ABANDONED for event in every(events, Failed)
    )
    lost = [
        event
        for event in events
        if isinstance(event, Response | Tool) and event.outcome is StepOutcome.UNKNOWN
    ]
    # Nothing but the reaper calls an end unknown here.
    assert not lost or abandoned or asked
    return abandoned or bool(lost)


@pytest.mark.timeout(900)
async def test_whatever_was_acknowledged_outlives_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, soak: bool
) -> None:
    rounds = 30 if soak else 3
    ended: dict[str, str] = {}
    left_open = kept = 0
    with demo_server(tmp_path, pace=0.02) as url:
        for name, value in environment(tmp_path, PLAYGROUND_DEMO_URL=url).items():
            monkeypatch.setenv(name, value)
        for number in range(rounds):
            seeds = range(number * AT_ONCE, (number + 1) * AT_ONCE)
            children = await asyncio.gather(*(killed(tmp_path, url, seed) for seed in seeds))
            async with open_runtime(tmp_path / "runs.db") as runtime:
                rows = {row.run_id: row for row in await all_runs(runtime)}
                streams = {run_id: await replay(runtime, run_id) for run_id in rows}
                log = await runtime.audit.page(AuditQuery(), limit=1_000_000)
                verified = await asyncio.to_thread(runtime.audit.verify)
            assert (verified.ok, verified.findings) == (True, ())
            assert verified.rows == len(log)
            calls = {row.call_id for row in log}
            left_open = sum(check_run(row, streams[run_id]) for run_id, row in rows.items())
            for child in children:
                assert {run_id for (run_id,) in child.about("run")} <= rows.keys()
                for run_id, seq in child.about("event"):
                    assert int(seq) < len(streams[run_id])
                assert {call_id for (call_id,) in child.about("call")} <= calls
                for (run_id,) in child.about("cancelled"):
                    assert rows[run_id].status is RunStatus.CANCELLED
                for run_id, status in child.about("end"):
                    ended[run_id] = status
                kept += len(child.lines)
            # Of all rounds: what has ended never changes.
            assert {run_id: rows[run_id].status.value for run_id in ended} == ended
    print(
        f"\n{rounds * AT_ONCE} kills: {len(rows)} runs, {left_open} left open and closed, "
        f"{kept} acknowledgements kept, {len(log)} audit rows"
    )
    assert left_open > rounds
    assert len(ended) > rounds
