"""The OpenAI chat format, from the server's side.

Source: OpenAI API reference, "Chat completions" and "Streaming".
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from core.demo._pace import Pacer
from core.demo.scenes import DEFAULT_SCENE, SCENES, Answer, Conversation

MODEL = "demo"
CALL_PIECES = 4
# Nothing of an answer depends on when it is given.
_CREATED = 1_767_225_600


class BadRequest(Exception):
    """The request cannot be answered.

    Attributes:
        status: the HTTP status to answer with.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for a completion, as far as the demo model minds it.

    Attributes:
        model: the name asked for.
        scene: the scene it selects.
        messages: the transcript.
        stream: whether to stream.
        include_usage: whether a stream ends with token counts.
        max_tokens: bound of the answer, or None.
        tools: whether any tool is on offer.
        thinking: whether thinking is allowed.
    """

    model: str
    scene: str
    messages: list[dict[str, Any]]
    stream: bool
    include_usage: bool
    max_tokens: int | None
    tools: bool
    thinking: bool

    @classmethod
    def parse(cls, body: bytes) -> ChatRequest:
        """Read a request's body.

        Raises:
            BadRequest: no JSON object, no messages, or no such model.
        """
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            raise BadRequest(400, "The body is not JSON") from None
        messages = found.get("messages") if isinstance(found, dict) else None
        if not isinstance(messages, list) or not all(isinstance(item, dict) for item in messages):
            raise BadRequest(400, "messages must be a list of objects")
        model = found.get("model")
        scene = _scene(model)
        options = found.get("stream_options")
        limit = found.get("max_completion_tokens", found.get("max_tokens"))
        return cls(
            model=model,
            scene=scene,
            messages=messages,
            stream=found.get("stream") is True,
            include_usage=isinstance(options, dict) and options.get("include_usage") is True,
            max_tokens=limit if isinstance(limit, int) else None,
            tools=bool(found.get("tools")) and found.get("tool_choice") != "none",
            thinking=found.get("reasoning_effort") != "none",
        )

    def conversation(self, *, base_url: str, attempt: int) -> Conversation:
        """Return what the scene may look at."""
        prompt, turn = "", 0
        for message in self.messages:
            if message.get("role") == "user":
                prompt, turn = _text(message.get("content")), 0
            elif message.get("role") == "assistant":
                turn += 1
        return Conversation(
            base_url=base_url,
            prompt=prompt,
            turn=turn,
            attempt=attempt,
            tools=self.tools,
            thinking=self.thinking,
        )

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the transcript: words and marks, so that a port's digits do not count."""
        count = 0
        for message in self.messages:
            count += _words(_text(message.get("content")))
            for call in message.get("tool_calls") or ():
                function = call.get("function") if isinstance(call, dict) else None
                if isinstance(function, dict):
                    count += _words(_text(function.get("arguments")))
        return count


class Completion:
    """One answer on the wire, token by token.

    Args:
        request: what was asked.
        answer: what the scene says.

    Attributes:
        finish_reason: the wire's word for how it ends.
    """

    def __init__(self, request: ChatRequest, answer: Answer) -> None:
        self._request = request
        self._answer = answer
        self._deltas = _deltas(answer, f"call_{len(request.messages)}")
        self.finish_reason = "tool_calls" if answer.calls else "stop"
        limit = request.max_tokens
        if limit is not None and limit < len(self._deltas):
            self._deltas = self._deltas[:limit]
            self.finish_reason = "length"

    async def deltas(self, pacer: Pacer) -> AsyncIterator[dict[str, Any]]:
        """Generate the answer at its pace; each delta is one token."""
        for number, delta in enumerate(self._deltas, start=1):
            await pacer.until(self._answer.delay + number / self._answer.rate)
            yield delta

    def chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> str:
        """Return one chunk of a stream."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return json.dumps(self._envelope("chat.completion.chunk") | {"choices": [choice]})

    def usage_chunk(self) -> str:
        """Return the chunk with the token counts."""
        envelope = self._envelope("chat.completion.chunk")
        return json.dumps(envelope | {"choices": [], "usage": self._usage()})

    def whole(self) -> dict[str, Any]:
        """Return the answer as one object."""
        message: dict[str, Any] = {"role": "assistant", "content": None}
        calls: dict[int, dict[str, Any]] = {}
        for delta in self._deltas:
            for name in ("content", "reasoning_content"):
                if name in delta:
                    message[name] = (message.get(name) or "") + delta[name]
            for piece in delta.get("tool_calls", ()):
                function = calls.setdefault(piece["index"], piece | {"function": {}})["function"]
                for name, value in piece["function"].items():
                    function[name] = function.get(name, "") + value
        if calls:
            for call in calls.values():
                del call["index"]
            message["tool_calls"] = list(calls.values())
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": self.finish_reason,
        }
        return self._envelope("chat.completion") | {"choices": [choice], "usage": self._usage()}

    def _envelope(self, kind: str) -> dict[str, Any]:
        number = len(self._request.messages)
        return {
            "id": f"chatcmpl-{self._request.scene}-{number}",
            "object": kind,
            "created": _CREATED,
            "model": self._request.model,
        }

    def _usage(self) -> dict[str, int]:
        read, written = self._request.prompt_tokens, len(self._deltas)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        }


def _deltas(answer: Answer, prefix: str) -> list[dict[str, Any]]:
    """Return the answer's deltas; calls are cut in pieces, and those of several calls mixed."""
    deltas: list[dict[str, Any]] = []
    deltas += [{"reasoning_content": token} for token in answer.thinking]
    deltas += [{"content": token} for token in answer.text]
    for index, call in enumerate(answer.calls):
        function = {"name": call.name, "arguments": ""}
        begun = {"index": index, "id": f"{prefix}_{index}", "type": "function"}
        deltas.append({"tool_calls": [begun | {"function": function}]})
    for number in range(CALL_PIECES):
        for index, call in enumerate(answer.calls):
            size = -(-len(call.arguments) // CALL_PIECES)
            piece = call.arguments[number * size : (number + 1) * size]
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    return deltas


def _scene(model: Any) -> str:
    name = model if isinstance(model, str) else ""
    scene = DEFAULT_SCENE if name == MODEL else name.removeprefix(f"{MODEL}/")
    if scene == name or scene not in SCENES:
        raise BadRequest(404, f"No such model; there are {MODEL} and {MODEL}/<scene>")
    return scene


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _words(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))
