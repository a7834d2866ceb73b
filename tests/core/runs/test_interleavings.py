"""After a cancel is acknowledged nothing starts but what its receipt names."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.model import (
    Cancelled,
    CancelLevel,
    CancelRequested,
    Request,
    Response,
    RunStatus,
    StepOutcome,
    Tool,
    ToolStarted,
    Usage,
)
from core.store import SqliteStore
from core.vault import Vault
from tests.fakes.clock import FakeClock
from tests.fakes.demo_transport import HOST
from tests.fakes.ids import FixedKeys
from tests.support.interleave import Cancel, Seen, interleave
from tests.support.runtime import open_store

SCENES = ("weather", "loop", "parallel", "flaky", "cap")


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[tuple[SqliteStore, SqliteStore]]:
    here = await open_store(tmp_path / "runs.db", synchronous="normal")
    elsewhere = await open_store(tmp_path / "runs.db", synchronous="normal")
    await Vault(here, FixedKeys(), FakeClock()).set("key", "k3y", hosts=(f"{HOST}:80",), actor="t")
    yield here, elsewhere
    await elsewhere.close()
    await here.close()


def plan(seed: int) -> tuple[str, list[Cancel], int]:
    """Return the scene, the cancels and the round cap of a seed."""
    dice = random.Random(f"plan {seed}")
    scene = SCENES[seed % len(SCENES)]
    cancels = [
        Cancel(dice.choice(list(CancelLevel)), dice.random() < 0.5)
        for _ in range(dice.choice((1, 1, 2, 3)))
    ]
    rounds = {"cap": 2, "loop": 4}.get(scene, 10)
    return {"cap": "loop"}.get(scene, scene), cancels, rounds


async def play(stores: tuple[SqliteStore, SqliteStore], seed: int) -> Seen:
    scene, cancels, rounds = plan(seed)
    return await interleave(*stores, seed=seed, scene=scene, cancels=cancels, max_rounds=rounds)


def violations(seen: Seen) -> list[str]:
    """Return every way in which an interleaving breaks the promise."""
    found = []
    kinds = [event.kind for event in seen.events]
    if [event.seq for event in seen.events] != list(range(len(seen.events))):
        found.append("the stream has a gap or a double")
    if sum(event.terminal for event in seen.events) != 1 or not seen.events[-1].terminal:
        found.append(f"not exactly one terminal event, last: {kinds}")
    for call_step, answers in seen.begun:
        for given in seen.acknowledged[:answers]:
            if not given.receipt.changed and given.receipt.why.startswith("already re"):
                continue
            named = {item.step for item in given.receipt.in_flight}
            if given.cancel.local:
                found.append(f"a body began after a local acknowledgement: {call_step}")
            elif call_step not in named:
                found.append(f"{call_step} began, in flight were {named}")
    requested = [e.seq or 0 for e in seen.events if isinstance(e, CancelRequested)]
    if requested:
        late = [
            event.seq
            for event in seen.events
            if isinstance(event, (Request, ToolStarted)) and (event.seq or 0) > requested[0]
        ]
        if late:
            found.append(f"intents {late} after the request {requested[0]}")
        if not isinstance(seen.events[-1], Cancelled):
            found.append(f"a cancelled run ended {kinds[-1]}")
        elif seen.events[-1].receipt.usage_after_request != Usage():
            found.append(f"spent after it: {seen.events[-1].receipt.usage_after_request}")
    elif any(given.receipt.changed for given in seen.acknowledged):
        found.append("a cancel said it changed the run, and the stream does not know")
    answered = sum(path.endswith("completions") for path in seen.completed)
    recorded = sum(
        isinstance(event, Response) and event.outcome is StepOutcome.OK for event in seen.events
    )
    if recorded != answered:
        found.append(f"{answered} answers, {recorded} recorded")
    intents = {e.step for e in seen.events if isinstance(e, (Request, ToolStarted))}
    outcomes = [e.step for e in seen.events if isinstance(e, (Response, Tool))]
    if sorted(outcomes) != sorted(intents):
        found.append("a step has no outcome, or two")
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(8))
async def test_nothing_starts_after_an_acknowledged_cancel_in_any_interleaving(
    stores: tuple[SqliteStore, SqliteStore], part: int, soak: bool
) -> None:
    seeds = range(part, 10_000 if soak else 1_000, 8)
    cancelled = 0
    for seed in seeds:
        seen = await play(stores, seed)
        assert violations(seen) == [], f"seed {seed} {plan(seed)}: {seen}"
        cancelled += seen.result.status is RunStatus.CANCELLED
    assert cancelled > len(seeds) / 2


class Unfenced(SqliteStore):
    """Stores intents although the run is being cancelled."""

    intents_allowed = "1"


@pytest.mark.timeout(600)
async def test_without_the_fence_the_same_interleavings_break_the_promise(
    stores: tuple[SqliteStore, SqliteStore], tmp_path: Path
) -> None:
    unfenced = await open_store(tmp_path / "runs.db", kind=Unfenced, synchronous="normal")
    broken = spent_after = 0
    for seed in range(10_000, 10_200):
        seen = await play((unfenced, stores[1]), seed)
        broken += bool(violations(seen))
        end = seen.events[-1]
        spent_after += isinstance(end, Cancelled) and end.receipt.usage_after_request != Usage()
    await unfenced.close()
    assert broken > 20
    assert spent_after > 5
