"""A run that goes on from another one's transcript."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import ProviderError, UsageError
from core.model import CancelLevel, Message, ModelRequest, Response, RunStatus, ToolCall
from core.providers.base import ModelReply
from tests.core.runs.rig import only, rigged
from tests.fakes.held_tool import HeldTool
from tests.fakes.provider import ScriptedProvider, Turn
from tests.support.waiting import until

NOT_EXECUTED = "not executed: the run was cancelled"


def assert_valid(messages: tuple[Message, ...]) -> None:
    """Every call has exactly one result, right after the turn that asked for it."""
    waiting: list[str] = []
    for place, message in enumerate(messages):
        if message.role == "tool":
            assert message.tool_call_id in waiting
            waiting.remove(message.tool_call_id)
            continue
        assert waiting == []
        assert (message.role == "system") <= (place == 0)
        waiting = [call.id for call in message.tool_calls]
    assert waiting == []


async def test_a_completed_run_is_continued_with_all_it_said(tmp_path: Path) -> None:
    held = HeldTool(result="42")
    held.release()
    turns = [Turn("let me see", calls=[("held", "{}")]), Turn("it is 42"), Turn("as I said")]
    async with rigged(tmp_path, turns, held) as rig:
        first = await rig.start(system="Be brief.")
        await rig.ended(first)
        second = await rig.start(prompt="sure?", after=first.id)
        result, _ = await rig.ended(second)
        sent = rig.provider.requests[-1].messages
    assert sent == (
        Message("system", "Be brief."),
        Message("user", "go"),
        Message("assistant", "let me see", (ToolCall("call_1", "held", "{}"),)),
        Message("tool", "42", tool_call_id="call_1"),
        Message("assistant", "it is 42"),
        Message("user", "sure?"),
    )
    assert result.text == "as I said"


async def test_another_system_prompt_takes_the_place_of_the_first(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("a"), Turn("b"), Turn("c")]) as rig:
        first = await rig.start(system="Be brief.")
        await rig.ended(first)
        second = await rig.start(prompt="again", after=first.id, system="Be long.")
        await rig.ended(second)
        await rig.ended(await rig.start(prompt="more", after=second.id))
        sent = rig.provider.requests[-1].messages
    assert sent == (
        Message("system", "Be long."),
        Message("user", "go"),
        Message("assistant", "a"),
        Message("user", "again"),
        Message("assistant", "b"),
        Message("user", "more"),
    )


async def test_calls_that_a_stop_left_unanswered_say_so(tmp_path: Path) -> None:
    slow = HeldTool(name="slow")
    quick = HeldTool(name="quick", result="done")
    quick.release()
    turns = [Turn("both", calls=[("quick", "{}"), ("slow", "{}")]), Turn("well then")]
    async with rigged(tmp_path, turns, quick, slow) as rig:
        first = await rig.start()
        await until(lambda: slow.runs)
        await first.cancel(CancelLevel.ABORT)
        await rig.ended(first)
        result, _ = await rig.ended(await rig.start(prompt="go on", after=first.id))
        sent = rig.provider.requests[-1].messages
    assert_valid(sent)
    assert sent[2].content == "done"
    assert sent[3].content.startswith("Error: ")
    assert result.text == "well then"


async def test_a_turn_that_came_with_the_stop_is_kept_and_its_calls_answered(
    tmp_path: Path,
) -> None:
    turns = [Turn("both", calls=[("held", "{}"), ("held", "{}")], hold=True), Turn("well then")]
    async with rigged(tmp_path, turns, HeldTool()) as rig:
        first = await rig.start()
        await until(rig.provider.holding.is_set)
        await first.cancel()
        rig.provider.release()
        await rig.ended(first)
        await rig.ended(await rig.start(prompt="go on", after=first.id))
        sent = rig.provider.requests[-1].messages
    assert_valid(sent)
    assert [message.content for message in sent if message.role == "tool"] == [NOT_EXECUTED] * 2


async def test_a_partial_answer_stands_as_far_as_it_came(tmp_path: Path) -> None:
    turns = [Turn("half an", calls=[("held", "{}")], hold=True), Turn("on it goes")]
    async with rigged(tmp_path, turns, HeldTool()) as rig:
        first = await rig.start()
        await until(rig.provider.holding.is_set)
        await first.cancel(CancelLevel.ABORT)
        await rig.ended(first)
        await rig.ended(await rig.start(prompt="go on", after=first.id))
        sent = rig.provider.requests[-1].messages
    assert sent == (
        Message("user", "go"),
        Message("assistant", "half an"),
        Message("user", "go on"),
    )


async def test_attempts_that_failed_leave_nothing(tmp_path: Path) -> None:
    busy = ProviderError("Slow down.", failure_class="rate_limit")
    async with rigged(tmp_path, [Turn("par", error=busy), Turn("whole"), Turn("on")]) as rig:
        first = await rig.start()
        await rig.outlast(rig.ended(first), most_s=2)
        await rig.ended(await rig.start(prompt="go on", after=first.id))
        sent = rig.provider.requests[-1].messages
    assert [message.content for message in sent] == ["go", "whole", "go on"]


class SameIds(ScriptedProvider):
    """Gives every turn's call the same id, as servers without ids of their own do."""

    async def respond(self, request: ModelRequest, **given: object) -> ModelReply:
        self._calls = 0
        return await super().respond(request, **given)  # type: ignore[arg-type]


async def test_calls_of_different_turns_may_share_an_id(tmp_path: Path) -> None:
    turns = [
        Turn(calls=[("get_weather", '{"city": "Oslo"}')]),
        Turn(calls=[("get_weather", '{"city": "Rome"}')]),
        Turn("cold and hot"),
        Turn("as I said"),
    ]
    async with rigged(tmp_path, provider=SameIds(turns)) as rig:
        first = await rig.start(tools=("get_weather",))
        await rig.ended(first)
        told = rig.provider.requests[-1].messages
        await rig.ended(await rig.start(prompt="sure?", after=first.id))
        sent = rig.provider.requests[-1].messages
    assert_valid(sent)
    assert sent[: len(told)] == told
    assert told[2].content != told[4].content


async def test_a_run_that_has_not_ended_cannot_be_continued(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True)]) as rig:
        run = await rig.start()
        with pytest.raises(UsageError, match="not ended"):
            await rig.start(after=run.id)
        await until(rig.provider.holding.is_set)
        await run.cancel()
        with pytest.raises(UsageError, match="not ended"):
            await rig.start(after=run.id)
        rig.provider.release()
        result, events = await rig.ended(run)
    assert result.status is RunStatus.CANCELLED
    assert only(events, Response).text == "x"
