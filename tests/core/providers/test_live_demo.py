from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.demo import DemoServer
from core.http import Bounds, CancelSignal
from core.model.messages import ToolCall
from core.model.usage import Usage
from core.model.words import AuditAction, StepOutcome
from tests.core.providers.live import LiveModel, ask, live_model
from tests.support.waiting import until


@pytest.fixture
async def model(demo: DemoServer) -> AsyncIterator[LiveModel]:
    async with live_model(f"{demo.url}/v1") as model:
        yield model


@pytest.mark.parametrize("stream", [True, False])
async def test_text_and_a_tool_call(model: LiveModel, demo: DemoServer, stream: bool) -> None:
    heard: list[str] = []
    reply = await model.respond(
        ask("demo", stream=stream, tools=True), on_delta=lambda kind, text: heard.append(text)
    )
    assert reply.outcome is StepOutcome.OK
    assert "Oslo" in reply.response.text
    assert reply.response.tool_calls == (ToolCall("call_1_0", "get_weather", '{"city": "Oslo"}'),)
    assert reply.response.finish_reason == "tool_calls"
    assert reply.response.unrepresented == []
    assert not reply.response.usage.estimated
    [record] = demo.stats()["requests"]
    assert record["tokens"] == reply.response.usage.output_tokens
    assert (record["run_id"], record["end"]) == ("run-1", "complete")
    if stream:
        assert "".join(heard) == reply.response.text


async def test_three_calls_cut_and_mixed(model: LiveModel) -> None:
    reply = await model.respond(ask("demo/parallel", tools=True))
    assert [call.arguments for call in reply.response.tool_calls] == [
        '{"city": "Lisbon"}',
        '{"city": "Oslo"}',
        '{"city": "Nairobi"}',
    ]


async def test_the_essay_arrives_whole(model: LiveModel) -> None:
    heard: list[str] = []
    reply = await model.respond(ask("demo/essay"), on_delta=lambda kind, text: heard.append(text))
    assert len(heard) == 3_000
    assert "".join(heard) == reply.response.text
    assert reply.response.usage.output_tokens == 3_000


async def test_thinking(model: LiveModel) -> None:
    reply = await model.respond(ask("demo/thinking"))
    assert reply.response.thinking.startswith("The question is")
    assert reply.response.text.startswith("Stop softly")
    without = await model.respond(replace(ask("demo/thinking"), thinking=False))
    assert without.response.thinking == ""


async def test_a_line_of_5_mb_passes(model: LiveModel) -> None:
    first = await model.respond(ask("demo/hostile", tools=True))
    assert len(first.response.tool_calls) == 3
    again = ask("demo/hostile")
    turn = replace(again.messages[0], role="assistant", content="x")
    for stream in (True, False):
        request = replace(again, messages=(*again.messages, turn), stream=stream)
        reply = await model.respond(request)
        assert reply.outcome is StepOutcome.OK
        assert max(map(len, reply.response.text.split("\n"))) >= 5_000_000
        reply.response.text.encode("utf-8")


async def test_flaky_then_good(model: LiveModel) -> None:
    classes, waits = [], []
    for _ in range(3):
        reply = await model.respond(ask("demo/flaky"))
        classes.append(reply.error.failure_class if reply.error else "ok")
        waits.append(reply.error.retry_after if reply.error else None)
    assert classes == ["server_error", "rate_limit", "ok"]
    assert waits == [None, 0.0, None]


async def test_denied_and_no_such_model(model: LiveModel) -> None:
    denied = await model.respond(ask("demo/denied"))
    unknown = await model.respond(ask("gpt-9"))
    assert denied.error is not None
    assert denied.error.failure_class == "auth"
    assert unknown.error is not None
    assert unknown.error.failure_class == "client_error"
    assert "demo/<scene>" in unknown.error.what


@pytest.mark.parametrize("stream", [True, False])
async def test_a_stall_ends_when_it_is_stopped(
    model: LiveModel, demo: DemoServer, stream: bool
) -> None:
    signal = CancelSignal()
    task = asyncio.create_task(model.respond(ask("demo/stall", stream=stream), signal=signal))
    await until(lambda: demo.stats()["requests"])
    signal.set()
    reply = await task
    assert reply.outcome is StepOutcome.INTERRUPTED
    assert reply.response.usage.estimated
    async with asyncio.timeout(5):
        while demo.stats()["requests"][0]["end"] is None:
            await asyncio.sleep(0)
    assert demo.stats()["requests"][0]["end"] == "disconnected"
    assert model.audit.only.action is AuditAction.HTTP_CALL_CANCELLED


async def test_a_stall_runs_into_its_bound(demo: DemoServer) -> None:
    async with live_model(f"{demo.url}/v1", bounds=Bounds(first_byte=0.1)) as model:
        reply = await model.respond(ask("demo/stall"))
    assert reply.error is not None
    assert reply.error.failure_class == "timeout"


async def test_a_stop_in_mid_essay_is_seen_by_the_server_between_tokens() -> None:
    # At this pace a token comes every 200 seconds: only the closed socket can end it in time.
    server = DemoServer(pace=10_000)
    await server.start()
    quick = DemoServer(pace=0.05)
    await quick.start()
    try:
        signal, heard = CancelSignal(), asyncio.Event()
        async with live_model(f"{quick.url}/v1") as model:
            task = asyncio.create_task(
                model.respond(
                    ask("demo/essay"), signal=signal, on_delta=lambda kind, text: heard.set()
                )
            )
            await asyncio.wait_for(heard.wait(), 5)
            signal.set()
            reply = await task
            async with asyncio.timeout(5):
                while (record := quick.stats()["requests"][0])["end"] is None:
                    await asyncio.sleep(0)
        assert reply.outcome is StepOutcome.INTERRUPTED
        assert record["end"] == "disconnected"
        assert 0 < record["tokens"] < 3_000
        assert reply.response.text
        async with live_model(f"{server.url}/v1") as model:
            signal = CancelSignal()
            task = asyncio.create_task(model.respond(ask("demo/essay"), signal=signal))
            await until(lambda: server.stats()["requests"])
            signal.set()
            await task
            await until(lambda: server.stats()["requests"][0]["end"] is not None)
        assert server.stats()["requests"][0]["tokens"] == 0
    finally:
        await quick.close()
        await server.close()


async def test_a_server_that_is_not_there() -> None:
    server = DemoServer(pace=0)
    await server.start()
    url = server.url
    await server.close()
    async with live_model(f"{url}/v1") as model:
        reply = await model.respond(ask("demo"))
    assert reply.error is not None
    assert reply.error.failure_class == "connection"
    assert reply.response.usage == Usage(requests=1)
