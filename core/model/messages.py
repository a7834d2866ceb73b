"""What goes to a model and what comes back, free of any wire format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from core.model.usage import Usage

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to run a tool.

    Attributes:
        id: the provider's id of this call; its result names it.
        name: the tool asked for; it may not exist.
        arguments: the raw string the model wrote; it may not be JSON.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a transcript.

    Attributes:
        role: who speaks.
        content: the text, empty where an assistant only calls tools.
        tool_calls: calls an assistant asks for.
        tool_call_id: for role ``tool``: the call this is the result of.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it.

    Attributes:
        name: what the model calls it by.
        description: what it does, for the model.
        parameters: JSON Schema of its arguments, an object schema.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call.

    Attributes:
        model: the model's name on the wire.
        messages: the whole transcript, oldest first.
        tools: tools on offer; none: the wire carries no tools field.
        max_tokens: bound of this one response, or None.
        temperature: 0 to 2, or None for the provider's default.
        thinking: ask for thinking, forbid it, or None for the default.
        stream: whether the response streams; deltas come only if it does.
        raw: keep the response's decoded body on the response.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    thinking: bool | None = None
    stream: bool = True
    raw: bool = False


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """What a model said.

    Attributes:
        text: the answer.
        thinking: thinking that came beside it.
        tool_calls: calls it asks for, in its order.
        usage: what the call cost.
        finish_reason: the provider's word, ``unknown`` where a whole answer had none,
            empty while it is partial.
        unrepresented: fields the wire carried that this type cannot hold, by path.
        raw: the response's body as text, if it was asked for.
    """

    text: str = ""
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = ""
    unrepresented: list[str] = field(default_factory=list)
    raw: str | None = None
