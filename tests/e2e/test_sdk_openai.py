"""The openai SDK as it comes, over the adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import Any

import pytest

from core.demo import DemoServer
from tests.core.http.server import answer, says, serve
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

ASK: Any = [{"role": "user", "content": "How is the weather in Kyoto?"}]
TOOLS: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}}]
TEXT = "one two three four five six seven eight"


@pytest.fixture
async def slow_demo() -> AsyncIterator[DemoServer]:
    server = DemoServer(pace=1)
    await server.start()
    yield server
    await server.close()


@pytest.fixture(params=["httpx", "httpx2"])
def sdk(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Make an SDK client over a gate; the SDK takes both libraries of the family."""
    from openai import AsyncOpenAI

    library = import_module(request.param)

    def make(opened: Gate, url: str, **options: Any) -> Any:
        http = library.AsyncClient(transport=opened.transport)
        given = {"max_retries": 0, **options}
        return AsyncOpenAI(base_url=url, api_key=PLACEHOLDER, http_client=http, **given)

    return make


def ends(server: DemoServer) -> list[str | None]:
    return [record["end"] for record in server.stats()["requests"]]


async def completed(client: Any, model: str) -> Any:
    """Stream an answer with tools through the SDK's helper; return what it put together."""
    async with client.chat.completions.stream(model=model, messages=ASK, tools=TOOLS) as stream:
        async for _ in stream:
            pass
        return await stream.get_final_completion()


async def test_a_whole_answer(demo: DemoServer, sdk: Any) -> None:
    async with gate(demo.url) as opened, sdk(opened, f"{demo.url}/v1") as client:
        answer = await client.chat.completions.create(model="demo", messages=ASK)
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert opened.outcomes == [(CALL, True, 200)]


async def test_a_streamed_answer(demo: DemoServer, sdk: Any) -> None:
    async with gate(demo.url) as opened, sdk(opened, f"{demo.url}/v1") as client:
        stream = await client.chat.completions.create(
            model="demo/essay", messages=ASK, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    assert chunks[-1].usage.completion_tokens == 3_000
    assert len(chunks) > 3_000
    assert opened.outcomes == [(CALL, True, 200)]
    assert ends(demo) == ["complete"]


async def test_tool_calls_put_together_by_the_sdk(demo: DemoServer, sdk: Any) -> None:
    async with gate(demo.url) as opened, sdk(opened, f"{demo.url}/v1") as client:
        final = await completed(client, "demo/parallel")
    assert [call.function.arguments for call in final.choices[0].message.tool_calls] == [
        '{"city": "Lisbon"}',
        '{"city": "Oslo"}',
        '{"city": "Nairobi"}',
    ]
    assert opened.outcomes == [(CALL, True, 200)]


@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_a_stream_stopped_midway_closes_the_socket(
    slow_demo: DemoServer, sdk: Any, how: str
) -> None:
    url = slow_demo.url
    async with gate(url) as opened, sdk(opened, f"{url}/v1") as client:
        stream = await client.chat.completions.create(model="demo/essay", messages=ASK, stream=True)
        assert ends(slow_demo) == [None]
        assert await stopped_midway(stream, how)
        assert opened.outcomes == [(EXPOSED, False, 200)]
        await until(lambda: ends(slow_demo) == ["disconnected"])
    assert slow_demo.stats()["requests"][0]["tokens"] < 3_000


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_cancelled_before_its_answer(demo: DemoServer, sdk: Any, stream: bool) -> None:
    async with gate(demo.url) as opened, sdk(opened, f"{demo.url}/v1") as client:
        task = asyncio.create_task(
            client.chat.completions.create(model="demo/stall", messages=ASK, stream=stream)
        )
        await until(lambda: ends(demo) == [None])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert opened.outcomes == [(EXPOSED, False, 0)]
        await until(lambda: ends(demo) == ["disconnected"])


@pytest.mark.parametrize("stream", [False, True])
async def test_the_sdks_retries_are_calls_of_their_own(
    demo: DemoServer, sdk: Any, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    async with gate(demo.url) as opened, sdk(opened, f"{demo.url}/v1", max_retries=2) as client:
        await client.chat.completions.create(model="demo/flaky", messages=ASK, stream=stream)
        # None of the answers that the SDK threw away counts as a stopped call.
        assert opened.outcomes[:2] == [(CALL, True, 500), (CALL, True, 429)]
        assert [record["scene"] for record in demo.stats()["requests"]] == ["flaky"] * 3
    assert len(opened.outcomes) == 3


async def test_errors_become_the_sdks_own(demo: DemoServer, sdk: Any) -> None:
    import openai

    async with gate(demo.url) as opened, sdk(opened, f"{demo.url}/v1") as client:
        with pytest.raises(openai.AuthenticationError):
            await client.chat.completions.create(model="demo/denied", messages=ASK)
        with pytest.raises(openai.APITimeoutError):
            await client.chat.completions.create(model="demo/stall", messages=ASK, timeout=0.05)
        with pytest.raises(openai.APIConnectionError) as refused:
            await client.with_options(base_url="http://127.0.0.2:9/v1").models.list()
    assert getattr(refused.value.__cause__, "code", None) == "host_not_allowed"
    assert opened.outcomes == [(CALL, True, 401), (CALL, False, 0), (CALL, False, 0)]


async def test_a_server_that_nobody_here_wrote(llmock: Any, sdk: Any) -> None:
    llmock.reply(TEXT).reply(TEXT).call_tool("get_weather", {"city": "Kyoto"})
    url = llmock.base_url()
    async with gate(url) as opened, sdk(opened, url) as client:
        whole = await client.chat.completions.create(model="gpt-4o", messages=ASK)
        stream = await client.chat.completions.create(model="gpt-4o", messages=ASK, stream=True)
        pieces = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
        final = await completed(client, "gpt-4o")
    assert whole.choices[0].message.content == "".join(pieces) == TEXT
    (call,) = final.choices[0].message.tool_calls
    assert call.function.name == "get_weather"
    assert opened.outcomes == [(CALL, True, 200)] * 3


@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_a_stalled_stream_of_that_server_is_stopped(llmock: Any, sdk: Any, how: str) -> None:
    llmock.reply(TEXT).stall(after_chunks=3, seconds=30)
    url = llmock.base_url()
    async with gate(url) as opened, sdk(opened, url) as client:
        stream = await client.chat.completions.create(model="gpt-4o", messages=ASK, stream=True)
        assert await stopped_midway(stream, how)
        assert opened.outcomes == [(EXPOSED, False, 200)]
        await until(lambda: len(llmock.requests) == 1)
    assert not llmock.last_request.completed
    assert llmock.last_request.duration < PATIENCE_S


async def test_the_sdks_retries_against_that_server(
    llmock: Any, sdk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    llmock.fail(503, times=2, retry_after=0.01).reply(TEXT)
    url = llmock.base_url()
    async with gate(url) as opened, sdk(opened, url, max_retries=2) as client:
        await client.chat.completions.create(model="gpt-4o", messages=ASK)
    assert opened.outcomes == [(CALL, True, 503), (CALL, True, 503), (CALL, True, 200)]


async def test_the_secret_is_on_the_wire_only(sdk: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    body = answer(b'{"data": [], "object": "list"}', "200 OK", "Content-Type: application/json")
    async with (
        serve(says(body)) as server,
        gate(server.url()) as opened,
        sdk(opened, server.url("/v1")) as client,
    ):
        listed = await client.models.with_raw_response.list()
        request = listed.http_response.request
    assert server.requests[0].all("authorization") == [f"Bearer {KEY}"]
    assert request.headers["authorization"] == f"Bearer {PLACEHOLDER}"
    assert KEY not in caplog.text
