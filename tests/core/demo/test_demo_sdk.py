"""The openai SDK as a judge of the demo server's wire format."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.demo import DemoServer

_TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}},
    }
]
_ASK: Any = [{"role": "user", "content": "How is the weather in Kyoto?"}]


@pytest.fixture
async def client() -> AsyncIterator[Any]:
    from openai import AsyncOpenAI

    server = DemoServer(pace=0)
    await server.start()
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as client:
        yield client
    await server.close()


async def test_a_streamed_answer_with_its_counts(client: Any) -> None:
    stream = await client.chat.completions.create(
        model="demo/essay", messages=_ASK, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces).startswith("# On stopping")
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage.completion_tokens == 3_000
    assert len({chunk.id for chunk in chunks}) == 1


async def test_no_counts_unless_asked_for(client: Any) -> None:
    stream = await client.chat.completions.create(model="demo", messages=_ASK, stream=True)
    assert all(chunk.usage is None for chunk in [chunk async for chunk in stream])


async def test_tool_calls_put_together_by_the_sdk(client: Any) -> None:
    async with client.chat.completions.stream(
        model="demo/parallel", messages=_ASK, tools=_TOOLS
    ) as stream:
        async for _ in stream:
            pass
        final = await stream.get_final_completion()
    calls = final.choices[0].message.tool_calls
    assert [call.function.arguments for call in calls] == [
        '{"city": "Lisbon"}',
        '{"city": "Oslo"}',
        '{"city": "Nairobi"}',
    ]
    assert final.choices[0].finish_reason == "tool_calls"


async def test_a_whole_answer_says_the_same_as_the_stream(client: Any) -> None:
    whole = await client.chat.completions.create(model="demo", messages=_ASK, tools=_TOOLS)
    async with client.chat.completions.stream(model="demo", messages=_ASK, tools=_TOOLS) as stream:
        async for _ in stream:
            pass
        final = await stream.get_final_completion()
    message, other = whole.choices[0].message, final.choices[0].message
    assert message.content == other.content
    assert [
        (call.id, call.function.name, call.function.arguments) for call in message.tool_calls
    ] == [(call.id, call.function.name, call.function.arguments) for call in other.tool_calls]
    assert whole.usage.completion_tokens > 0


async def test_errors_become_the_sdks_own(client: Any) -> None:
    import openai

    with pytest.raises(openai.AuthenticationError):
        await client.chat.completions.create(model="demo/denied", messages=_ASK)
    with pytest.raises(openai.NotFoundError):
        await client.chat.completions.create(model="gpt-9", messages=_ASK)
    with pytest.raises(openai.InternalServerError):
        await client.chat.completions.create(model="demo/flaky", messages=_ASK)
    with pytest.raises(openai.RateLimitError) as caught:
        await client.chat.completions.create(model="demo/flaky", messages=_ASK)
    assert caught.value.response.headers["retry-after"] == "0"
