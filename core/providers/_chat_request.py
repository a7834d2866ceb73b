"""A model request in the OpenAI chat format.

Source: OpenAI API reference, "Create chat completion".
"""

from __future__ import annotations

import json
from typing import Any

from core.model.messages import Message, ModelRequest, ToolCall, ToolSpec


def encode(request: ModelRequest, *, limit_field: str = "max_tokens") -> bytes:
    """Return the body of ``request``: JSON, UTF-8.

    Args:
        request: what to ask.
        limit_field: the field that bounds the answer's tokens.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.max_tokens is not None:
        body[limit_field] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.thinking is not None:
        body["reasoning_effort"] = "medium" if request.thinking else "none"
    body["stream"] = request.stream
    if request.stream:
        body["stream_options"] = {"include_usage": True}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate has no UTF-8 form, and servers refuse it as an escape too.
    return text.encode("utf-8", "replace")


def _message(message: Message) -> dict[str, Any]:
    encoded: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        # Some servers refuse an empty text beside tool calls; none refuses null.
        encoded["content"] = message.content or None
        encoded["tool_calls"] = [_tool_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        encoded["tool_call_id"] = message.tool_call_id
    return encoded


def _tool_call(call: ToolCall) -> dict[str, Any]:
    # Servers that parse the arguments of earlier calls refuse an empty string.
    arguments = call.arguments if call.arguments.strip() else "{}"
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}
