"""Calls that cannot be run as asked: the model is told, and the run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import StepbrakeError
from core.model import Message, RunStatus, StepOutcome, Tool, ToolStarted
from core.tools import ToolError, tool
from core.tools.base import RESULT_LIMIT
from tests.core.runs.rig import every, only, rigged
from tests.fakes.held_tool import HeldTool
from tests.fakes.provider import Turn


@tool(effect="pure")
async def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


@tool(effect="pure")
async def breaks(how: str) -> str:
    """Raise."""
    if how == "tool":
        raise ToolError("no_luck", "There is nothing to be had")
    if how == "family":
        raise StepbrakeError("A fault of ours", where="here", hint="no hint for the model")
    raise RuntimeError(f"the password is hunter2, {how}")


def asks(*calls: tuple[str, str]) -> list[Turn]:
    return [Turn("hm", calls=calls), Turn("so be it")]


@pytest.mark.parametrize(
    ("call", "code", "executed", "says"),
    [
        (("nothing", "{}"), "unknown_tool", False, "There is no such tool; on offer: add, breaks"),
        (("http_get", "{}"), "not_offered", False, "not on offer here"),
        (("add", '{"left": 1'), "bad_arguments", True, "do not fit"),
        (("add", "[1, 2]"), "bad_arguments", True, "do not fit"),
        (("add", '{"left": 1, "right": "two"}'), "bad_arguments", True, "right"),
        (("add", '{"left": 1, "right": 2, "more": 3}'), "bad_arguments", True, "more"),
        (("breaks", '{"how": "tool"}'), "no_luck", True, "There is nothing to be had"),
        (("breaks", '{"how": "family"}'), "StepbrakeError", True, "A fault of ours"),
        (("breaks", '{"how": "x"}'), "tool_raised", True, "The tool raised RuntimeError."),
    ],
)
async def test_a_call_that_fails_is_an_error_result(
    tmp_path: Path, call: tuple[str, str], code: str, executed: bool, says: str
) -> None:
    async with rigged(tmp_path, asks(call), add, breaks) as rig:
        result, events = await rig.ended(await rig.start())
        row = await rig.runtime.status(result.run_id)
    assert (result.status, result.text) == (RunStatus.COMPLETED, "so be it")
    found = only(events, Tool)
    assert (found.outcome, found.executed) == (StepOutcome.ERROR, executed)
    assert found.error is not None
    assert found.error.code == code
    assert found.result.startswith("Error: ")
    assert says in found.result
    assert row.tool_calls == executed
    answer = rig.provider.requests[1].messages[-1]
    assert answer == Message("tool", found.result, tool_call_id=found.tool_call_id)


async def test_a_foreign_exceptions_text_reaches_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with rigged(tmp_path, asks(("breaks", '{"how": "x"}')), breaks) as rig:
        result, events = await rig.ended(await rig.start())
    assert "hunter2" not in f"{rig.provider.requests}{events}{result}{caplog.text}"


async def test_an_errors_text_is_bounded_and_can_be_sent_like_any_result(tmp_path: Path) -> None:
    @tool(effect="pure")
    async def complains() -> str:
        raise ToolError("too_much", "\ud800" * (RESULT_LIMIT + 1))

    async with rigged(tmp_path, asks(("complains", "{}")), complains) as rig:
        _, events = await rig.ended(await rig.start())
    (answer,) = (m for m in rig.provider.requests[1].messages if m.role == "tool")
    assert answer.content.startswith("Error: \ufffd")
    assert "[clipped: 262,144 of 262,145 characters kept]" in answer.content
    assert answer.content == only(events, Tool).result


async def test_good_and_bad_calls_of_a_turn_are_answered_in_its_order(tmp_path: Path) -> None:
    calls = [
        ("nothing", "{}"),
        ("add", '{"left": 1, "right": 2}'),
        ("breaks", '{"how": "tool"}'),
        ("add", '{"left": 3, "right": 4}'),
    ]
    async with rigged(tmp_path, asks(*calls), add, breaks) as rig:
        _, events = await rig.ended(await rig.start())
    answers = rig.provider.requests[1].messages[-4:]
    assert [answer.tool_call_id for answer in answers] == [f"call_{n}" for n in range(1, 5)]
    assert [answer.content for answer in answers][1::2] == ["3", "7"]
    assert [event.arguments for event in every(events, ToolStarted)] == [call[1] for call in calls]


async def test_an_unknown_tool_beside_a_pure_one_keeps_nobody_waiting(tmp_path: Path) -> None:
    held = HeldTool()
    async with rigged(tmp_path, asks(("held", "{}"), ("nothing", "{}")), held) as rig:
        run = await rig.start()
        recorded: list[Tool] = []
        async with run.events() as events:
            async for event in events:
                if isinstance(event, Tool):
                    recorded.append(event)
                    held.release()
        await rig.ended(run)
    assert [event.name for event in recorded] == ["nothing", "held"]
