"""The anthropic SDK as it comes, over the adapter, against a server that nobody here wrote."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.core.http.server import Seen, serve, silent
from tests.e2e.sdk import (
    CALL,
    EXPOSED,
    KEY,
    PATIENCE_S,
    PLACEHOLDER,
    WEATHER,
    Gate,
    gate,
    stopped_midway,
)
from tests.support.waiting import until

ASK: Any = {
    "model": "claude-of-the-test",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "How is the weather in Kyoto?"}],
}
TOOLS: Any = [{"name": "get_weather", "input_schema": WEATHER}]
TEXT = "one two three four five six seven eight"
BEGUN = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    b'event: message_start\ndata: {"type": "message_start", "message": {"id": "m", '
    b'"type": "message", "role": "assistant", "model": "m", "content": [], '
    b'"stop_reason": null, "stop_sequence": null, '
    b'"usage": {"input_tokens": 1, "output_tokens": 1}}}\n\n'
)


def sdk(opened: Gate, url: str, **options: Any) -> Any:
    """Make an SDK client over a gate."""
    from anthropic import AsyncAnthropic
    from httpx2 import AsyncClient

    http = AsyncClient(transport=opened.transport)
    given = {"max_retries": 0, **options}
    return AsyncAnthropic(base_url=url, api_key=PLACEHOLDER, http_client=http, **given)


@pytest.fixture
async def peer(llmock: Any) -> AsyncIterator[tuple[Gate, Any]]:
    url = llmock.base_url("anthropic")
    async with gate(url, api_key=True) as opened, sdk(opened, url) as client:
        yield opened, client


async def test_a_whole_answer(llmock: Any, peer: tuple[Gate, Any]) -> None:
    opened, client = peer
    llmock.reply(TEXT)
    answer = await client.messages.create(**ASK)
    assert (answer.content[0].text, answer.stop_reason) == (TEXT, "end_turn")
    assert opened.outcomes == [(CALL, True, 200)]


@pytest.mark.parametrize("helper", [False, True])
async def test_a_streamed_answer(llmock: Any, peer: tuple[Gate, Any], helper: bool) -> None:
    opened, client = peer
    llmock.reply(TEXT)
    if helper:
        async with client.messages.stream(**ASK) as stream:
            text = "".join([piece async for piece in stream.text_stream])
    else:
        events = [event async for event in await client.messages.create(**ASK, stream=True)]
        text = "".join(event.delta.text for event in events if event.type == "content_block_delta")
        assert events[-1].type == "message_stop"
    assert text == TEXT
    assert opened.outcomes == [(CALL, True, 200)]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_call(llmock: Any, peer: tuple[Gate, Any], stream: bool) -> None:
    opened, client = peer
    llmock.call_tool("get_weather", {"city": "Kyoto"})
    if stream:
        async with client.messages.stream(**ASK, tools=TOOLS) as streaming:
            answer = await streaming.get_final_message()
    else:
        answer = await client.messages.create(**ASK, tools=TOOLS)
    (use,) = [block for block in answer.content if block.type == "tool_use"]
    assert (use.name, use.input["city"]) == ("get_weather", "Kyoto")
    assert opened.outcomes == [(CALL, True, 200)]


@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_a_stalled_stream_is_stopped(llmock: Any, peer: tuple[Gate, Any], how: str) -> None:
    opened, client = peer
    llmock.reply(TEXT).stall(after_chunks=3, seconds=30)
    stream = await client.messages.create(**ASK, stream=True)
    assert await stopped_midway(stream, how)
    assert opened.outcomes == [(EXPOSED, False, 200)]
    await until(lambda: len(llmock.requests) == 1)
    assert not llmock.last_request.completed
    assert llmock.last_request.duration < PATIENCE_S


async def test_the_sdks_retries_are_calls_of_their_own(llmock: Any) -> None:
    llmock.fail(503, times=1, retry_after=0.01).rate_limit(times=1, retry_after=0.01).reply(TEXT)
    url = llmock.base_url("anthropic")
    async with gate(url, api_key=True) as opened, sdk(opened, url, max_retries=2) as client:
        answer = await client.messages.create(**ASK)
    assert answer.content[0].text == TEXT
    assert opened.outcomes == [(CALL, True, 503), (CALL, True, 429), (CALL, True, 200)]


async def test_errors_become_the_sdks_own(llmock: Any, peer: tuple[Gate, Any]) -> None:
    import anthropic

    opened, client = peer
    llmock.fail(401).delay(0.5)
    with pytest.raises(anthropic.AuthenticationError):
        await client.messages.create(**ASK)
    with pytest.raises(anthropic.APITimeoutError):
        await client.messages.create(**ASK, timeout=0.05)
    with pytest.raises(anthropic.APIConnectionError) as refused:
        await client.with_options(base_url="http://127.0.0.2:9").models.list()
    assert getattr(refused.value.__cause__, "code", None) == "host_not_allowed"
    assert opened.outcomes == [(CALL, True, 401), (CALL, False, 0), (CALL, False, 0)]


async def begin(_seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(BEGUN)
    await asyncio.Event().wait()


@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_a_stream_stopped_midway_closes_the_socket(how: str) -> None:
    async with (
        serve(begin) as server,
        gate(server.url(), api_key=True) as opened,
        sdk(opened, server.url()) as client,
    ):
        stream = await client.messages.create(**ASK, stream=True)
        (event,) = await stopped_midway(stream, how)
        assert event.type == "message_start"
        assert opened.outcomes == [(EXPOSED, False, 200)]
        await asyncio.wait_for(server.peer_closed.wait(), PATIENCE_S)
    (seen,) = server.requests
    assert seen.all("x-api-key") == [KEY]
    assert PLACEHOLDER not in repr(seen)


async def test_a_call_cancelled_before_its_answer_closes_the_socket() -> None:
    async with (
        serve(silent) as server,
        gate(server.url(), api_key=True) as opened,
        sdk(opened, server.url()) as client,
    ):
        task = asyncio.create_task(client.messages.create(**ASK))
        await asyncio.wait_for(server.arrived.wait(), PATIENCE_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert opened.outcomes == [(EXPOSED, False, 0)]
        await asyncio.wait_for(server.peer_closed.wait(), PATIENCE_S)


def test_the_sdks_own_default_client_takes_the_transport() -> None:
    code = (
        "import anthropic, sys\n"
        "from core.adapters import httpx_transport\n"
        "from core.http import VaultHttpClient\n"
        "made = httpx_transport(object.__new__(VaultHttpClient))\n"
        "http = anthropic.DefaultAsyncHttpxClient(transport=made)\n"
        "anthropic.AsyncAnthropic(api_key='x', http_client=http)\n"
        "print('httpx' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=30
    )
    assert run.stdout.strip() == "False"  # with httpx there, the SDK takes an httpx2 client only
