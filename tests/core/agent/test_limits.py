"""Where a run ends by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.errors import UsageError
from core.model import (
    Assembled,
    Completed,
    Message,
    Request,
    Response,
    RunStatus,
    TerminationReason,
    Tool,
    Usage,
)
from tests.core.runs.rig import every, kinds, only, rigged
from tests.fakes.held_tool import HeldTool
from tests.fakes.provider import Turn

CALL = ("held", "{}")


def released() -> HeldTool:
    held = HeldTool()
    held.release()
    return held


async def test_a_plain_answer_is_one_round(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("hello", thinking="hm")]) as rig:
        result, events = await rig.ended(await rig.start(system="Be kind."))
    assert kinds(events) == ["started", "assembled", "request", "response", "completed"]
    assert only(events, Assembled).messages == (
        Message("system", "Be kind."),
        Message("user", "go"),
    )
    end = only(events, Completed)
    assert (end.text, end.truncated, end.rounds, end.tool_calls) == ("hello", False, 1, 0)
    assert end.termination_reason is TerminationReason.COMPLETED
    assert only(events, Response).thinking == "hm"
    assert (result.text, result.error, result.receipt) == ("hello", None, None)


async def test_an_answer_cut_at_its_length_is_truncated(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("hel", finish="length")]) as rig:
        _, events = await rig.ended(await rig.start())
    assert only(events, Completed).truncated


async def test_the_round_cap_ends_in_one_answer_without_tools(tmp_path: Path) -> None:
    held = released()
    turns = [Turn("1", calls=[CALL]), Turn("2", calls=[CALL]), Turn("all in all")]
    async with rigged(tmp_path, turns, held) as rig:
        result, events = await rig.ended(await rig.start(max_rounds=2))
    assert [bool(request.tools) for request in rig.provider.requests] == [True, True, False]
    end = only(events, Completed)
    assert end.termination_reason is TerminationReason.MAX_ROUNDS
    assert (end.text, end.truncated, end.rounds, end.tool_calls) == ("all in all", True, 3, 2)
    assert [event.round for event in every(events, Request)] == [1, 2, 3]
    assert result.status is RunStatus.COMPLETED


async def test_tools_that_the_closing_answer_asks_for_are_not_run(tmp_path: Path) -> None:
    held = released()
    async with rigged(tmp_path, [Turn("more", calls=[CALL])], held, loop=True) as rig:
        _, events = await rig.ended(await rig.start(max_rounds=3))
    assert held.runs == 3
    assert only(events, Completed).text == "more"


async def test_a_token_budget_ends_the_run_before_the_next_call(tmp_path: Path) -> None:
    held = released()
    async with rigged(tmp_path, [Turn("more", calls=[CALL])], held, loop=True) as rig:
        result, events = await rig.ended(await rig.start(max_total_tokens=240))
    end = only(events, Completed)
    assert end.termination_reason is TerminationReason.BUDGET_EXHAUSTED
    assert (end.truncated, end.text) == (True, "more")
    assert result.usage == Usage(2, 200, 40)
    assert len(every(events, Tool)) == 2


async def test_a_token_budget_also_bounds_the_closing_answer(tmp_path: Path) -> None:
    held = released()
    async with rigged(tmp_path, [Turn("more", calls=[CALL])], held, loop=True) as rig:
        result, _ = await rig.ended(await rig.start(max_total_tokens=120, max_rounds=1))
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED
    assert len(rig.provider.requests) == 1


async def test_a_turn_that_asks_for_too_many_calls_runs_none_of_them(tmp_path: Path) -> None:
    held = released()
    turns = [Turn("1", calls=[CALL] * 2), Turn("2", calls=[CALL] * 2)]
    async with rigged(tmp_path, turns, held) as rig:
        result, events = await rig.ended(await rig.start(max_tool_calls=3))
    assert held.runs == 2
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED
    assert only(events, Completed).text == "2"


async def test_a_dry_run_ends_with_the_prompt_and_sends_nothing(tmp_path: Path) -> None:
    async with rigged(tmp_path, [], released()) as rig:
        result, events = await rig.ended(await rig.start(dry_run=True))
    assert kinds(events) == ["started", "assembled", "completed"]
    assert only(events, Assembled).tools == ("held",)
    assert (result.usage, result.text) == (Usage(), "")
    assert rig.provider.requests == []


async def test_what_the_request_asks_for_reaches_the_model(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x")]) as rig:
        await rig.ended(
            await rig.start(max_tokens=9, temperature=0.5, thinking=True, raw=True, tools=())
        )
        (request,) = rig.provider.requests
    assert (request.max_tokens, request.temperature) == (9, 0.5)
    assert (request.thinking, request.raw, request.tools) == (True, True, ())


@pytest.mark.parametrize(
    "wrong",
    [
        {"prompt": " \n"},
        {"model": "nobody"},
        {"tools": ("nothing",)},
        {"max_rounds": 0},
        {"max_tokens": 0},
        {"max_total_tokens": -1},
        {"max_tool_calls": 0},
        {"temperature": 2.1},
        {"after": "no-such-run"},
    ],
)
async def test_a_request_that_cannot_be_run_leaves_nothing(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    async with rigged(tmp_path) as rig:
        with pytest.raises(UsageError):
            await rig.start(**wrong)
        assert await rig.runtime.runs() == []
