"""The provider against a server that nobody here wrote, and its injected faults."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from core.http import Bounds, CancelSignal
from core.model.words import AuditAction, StepOutcome
from tests.core.providers.live import LiveModel, ask, live_model

_TEXT = "one two three four five six seven eight"


async def _failure(llmock: Any, *, bounds: Bounds | None = None) -> tuple[str, str, LiveModel]:
    async with live_model(llmock.base_url(), bounds=bounds) as model:
        reply = await model.respond(ask("gpt-4o"))
        assert reply.outcome is StepOutcome.ERROR
        assert reply.error is not None
        return reply.error.failure_class, reply.response.text, model


@pytest.mark.parametrize("stream", [True, False])
async def test_a_plain_answer(llmock: Any, stream: bool) -> None:
    llmock.reply(_TEXT)
    heard: list[str] = []
    async with live_model(llmock.base_url()) as model:
        reply = await model.respond(
            ask("gpt-4o", stream=stream), on_delta=lambda kind, text: heard.append(text)
        )
    assert reply.outcome is StepOutcome.OK
    assert reply.response.text == _TEXT
    assert reply.response.finish_reason == "stop"
    assert reply.response.usage.output_tokens > 0
    assert not reply.response.usage.estimated
    assert "".join(heard) == (_TEXT if stream else "")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_tool_call(llmock: Any, stream: bool) -> None:
    llmock.call_tool("get_weather", {"city": "Zürich", "note": "long enough to be cut in pieces"})
    async with live_model(llmock.base_url()) as model:
        reply = await model.respond(ask("gpt-4o", stream=stream, tools=True))
    [call] = reply.response.tool_calls
    assert call.id
    assert call.name == "get_weather"
    assert json.loads(call.arguments)["city"] == "Zürich"
    assert reply.response.finish_reason == "tool_calls"


async def test_a_broken_tool_call_comes_as_it_was_sent(llmock: Any) -> None:
    llmock.break_tool_call("malformed_arguments")
    async with live_model(llmock.base_url()) as model:
        reply = await model.respond(ask("gpt-4o", tools=True))
    [call] = reply.response.tool_calls
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.arguments)


async def test_a_truncated_stream_is_never_a_short_answer(llmock: Any) -> None:
    llmock.reply(_TEXT).truncate(after_chunks=3)
    failure, text, model = await _failure(llmock)
    assert failure == "incomplete_stream"
    assert _TEXT.startswith(text)
    assert 0 < len(text) < len(_TEXT)
    assert model.audit.only.success


async def test_a_dropped_connection(llmock: Any) -> None:
    llmock.reply(_TEXT).disconnect(after_chunks=3)
    failure, text, model = await _failure(llmock)
    assert failure == "connection"
    assert 0 < len(text) < len(_TEXT)
    assert not model.audit.only.success


async def test_a_malformed_chunk(llmock: Any) -> None:
    llmock.reply(_TEXT).corrupt(after_chunks=3)
    failure, text, _ = await _failure(llmock)
    assert failure == "malformed"
    assert 0 < len(text) < len(_TEXT)


async def test_a_stall_runs_into_the_bound(llmock: Any) -> None:
    llmock.reply(_TEXT).stall(after_chunks=3, seconds=2)
    failure, text, _ = await _failure(llmock, bounds=Bounds(silence=0.2))
    assert failure == "timeout"
    assert 0 < len(text) < len(_TEXT)


async def test_a_stall_ends_at_once_when_it_is_stopped(llmock: Any) -> None:
    llmock.reply(_TEXT).stall(after_chunks=3, seconds=2)
    signal, heard = CancelSignal(), asyncio.Event()
    async with live_model(llmock.base_url()) as model:
        task = asyncio.create_task(
            model.respond(ask("gpt-4o"), signal=signal, on_delta=lambda kind, text: heard.set())
        )
        await asyncio.wait_for(heard.wait(), 5)
        begun = asyncio.get_running_loop().time()
        signal.set()
        reply = await task
        took = asyncio.get_running_loop().time() - begun
    assert reply.outcome is StepOutcome.INTERRUPTED
    assert _TEXT.startswith(reply.response.text)
    assert took < 1
    assert model.audit.only.action is AuditAction.HTTP_CALL_CANCELLED


async def test_a_rate_limit_and_then_an_answer(llmock: Any) -> None:
    llmock.rate_limit(times=1, retry_after=0.5)
    async with live_model(llmock.base_url()) as model:
        first = await model.respond(ask("gpt-4o"))
        assert first.error is not None
        wait = first.error.retry_after
        assert first.error.failure_class == "rate_limit"
        assert wait is not None
        await asyncio.sleep(wait)
        second = await model.respond(ask("gpt-4o"))
    assert second.outcome is StepOutcome.OK
    llmock.assert_resilient()


@pytest.mark.parametrize(
    ("status", "failure_class"),
    [
        (400, "client_error"),
        (401, "auth"),
        (403, "auth"),
        (404, "client_error"),
        (500, "server_error"),
        (503, "server_error"),
    ],
)
async def test_http_errors(llmock: Any, status: int, failure_class: str) -> None:
    llmock.fail(status)
    failure, text, model = await _failure(llmock)
    assert (failure, text) == (failure_class, "")
    assert model.audit.only.status == status
