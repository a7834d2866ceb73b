"""What each commit carries: durability, open steps, what is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.model import Effect, InFlight, Request, RunStatus, ToolStarted, Usage
from tests.core.runs.rig import rigged
from tests.fakes.held_tool import HeldTool
from tests.fakes.provider import Turn

TURNS = [Turn("one", calls=[("held", "{}"), ("nothing", "{}")]), Turn("two")]


@pytest.mark.parametrize("effect", list(Effect))
async def test_intents_with_an_effect_and_ends_are_durable_before_the_step_begins(
    tmp_path: Path, effect: Effect
) -> None:
    held = HeldTool(effect=effect)
    held.release()
    async with rigged(tmp_path, TURNS, held) as rig:
        await rig.ended(await rig.start())
        commits = rig.store.commits
    for commit in commits:
        if commit.close or any(isinstance(intent, Request) for intent in commit.intents):
            assert commit.durable
        elif any(isinstance(i, ToolStarted) and i.name == "held" for i in commit.intents):
            assert commit.durable is (effect is not Effect.PURE)
    assert commits[-1].close is not None


async def test_an_outcome_shares_its_transaction_with_the_next_intent(tmp_path: Path) -> None:
    held = HeldTool()
    held.release()
    async with rigged(tmp_path, [Turn("one", calls=[("held", "{}")]), Turn("two")], held) as rig:
        result, events = await rig.ended(await rig.start())
        row = await rig.runtime.status(result.run_id)
        kinds = [
            [event.kind.value for event in (*commit.outcomes, *commit.intents)]
            for commit in rig.store.commits
        ]
    assert kinds == [
        ["assembled", "request"],
        ["response", "tool_started"],
        ["tool", "request"],
        ["response"],
    ]
    assert (row.round, row.tool_calls, row.next_seq) == (2, 1, len(events))


async def test_the_row_knows_what_is_open_and_what_was_spent_at_each_boundary(
    tmp_path: Path,
) -> None:
    held = HeldTool()
    async with rigged(tmp_path, [Turn("one", calls=[("held", "{}")]), Turn("two")], held) as rig:
        run = await rig.start()
        await rig.recorded(ToolStarted)
        row = await rig.runtime.status(run.id)
        assert row.open_steps == (InFlight("1.3", "tool_started", "held"),)
        assert (row.status, row.cancelling) == (RunStatus.RUNNING, False)
        assert (row.usage, row.round, row.tool_calls) == (Usage(1, 100, 20), 1, 0)
        assert row.owner == rig.store.owner
        held.release()
        await rig.ended(run)
