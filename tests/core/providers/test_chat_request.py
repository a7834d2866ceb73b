from __future__ import annotations

import json
from typing import Any

from core.model.messages import Message, ModelRequest, ToolCall, ToolSpec
from core.providers.openai_chat import encode

_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def _encoded(request: ModelRequest) -> Any:
    return json.loads(encode(request))


def test_a_plain_request_holds_nothing_more_than_was_asked() -> None:
    request = ModelRequest("m", (Message("user", "Grüße 🚂"),), stream=False)
    assert _encoded(request) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Grüße 🚂"}],
        "stream": False,
    }


def test_a_stream_asks_for_its_counts() -> None:
    found = _encoded(ModelRequest("m", (Message("user", "hi"),)))
    assert found["stream"] is True
    assert found["stream_options"] == {"include_usage": True}


def test_a_transcript_with_tools() -> None:
    request = ModelRequest(
        "m",
        (
            Message("system", "Be brief."),
            Message("user", "Weather?"),
            Message("assistant", "", (ToolCall("c0", "get_weather", ""),)),
            Message("tool", "21 C", tool_call_id="c0"),
            Message("assistant", "So:", (ToolCall("c1", "f", '{"a": broken'),)),
        ),
        tools=(ToolSpec("get_weather", "Says the weather.", _SCHEMA),),
        max_tokens=7,
        temperature=0.0,
        thinking=True,
    )
    found = _encoded(request)
    assert found["messages"][2:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c0",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": "{}"},
                }
            ],
        },
        {"role": "tool", "content": "21 C", "tool_call_id": "c0"},
        {
            "role": "assistant",
            "content": "So:",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "f", "arguments": '{"a": broken'},
                }
            ],
        },
    ]
    assert found["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "Says the weather.",
                "parameters": _SCHEMA,
            },
        }
    ]
    assert (found["max_tokens"], found["temperature"]) == (7, 0.0)
    assert found["reasoning_effort"] == "medium"


def test_thinking_can_be_forbidden() -> None:
    found = _encoded(ModelRequest("m", (Message("user", "hi"),), thinking=False))
    assert found["reasoning_effort"] == "none"


def test_half_a_character_does_not_break_the_request() -> None:
    found = _encoded(ModelRequest("m", (Message("user", "a\ud83db"),)))
    assert found["messages"][0]["content"] == "a?b"
