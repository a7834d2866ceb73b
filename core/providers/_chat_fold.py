"""Folds the objects of the OpenAI chat format into one response.

A whole answer is one object with a ``message``; a stream is many, each with a ``delta`` of
the same shape. So one reader serves both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from core.errors import ProviderError
from core.model.messages import ModelResponse
from core.model.usage import Usage
from core.model.words import FailureClass
from core.providers._failures import Mask, reported
from core.providers._lost import LostFields, holds_something, servers_word
from core.providers._text_pieces import TextPieces
from core.providers._tool_calls import ToolCallPieces
from core.providers._usage import estimated_tokens, parse_usage
from core.providers.base import DeltaKind

Delta = tuple[DeltaKind, str]

# Represented, or about the service and not about the answer.
_KNOWN = frozenset(
    {
        "choices",
        "created",
        "error",
        "id",
        "model",
        "object",
        "obfuscation",
        "provider",
        "request_id",
        "service_tier",
        "sla_metrics",
        "system_fingerprint",
        "time_info",
        "usage",
        "user_id",
        "x_groq",
    }
)
_KNOWN_CHOICE = frozenset(
    {"delta", "error", "finish_reason", "index", "message", "native_finish_reason", "seed"}
)
_KNOWN_MESSAGE = frozenset(
    {"content", "reasoning", "reasoning_content", "reasoning_details", "role", "tool_calls"}
)
_KNOWN_DETAIL = frozenset({"format", "id", "index", "text", "type"})


class ChatFold:
    """What an exchange said so far.

    Args:
        part: the member of a choice that holds its content.
        input_estimate: tokens of the request, for a server that counts none.
        mask: takes known secrets out of the server's words that are shown cut or altered.

    Attributes:
        finish_reason: the last one that was not empty.
        usage: the last counts that the server gave, or None.
    """

    def __init__(
        self, part: Literal["delta", "message"], *, input_estimate: int = 0, mask: Mask = str
    ) -> None:
        self._part = part
        self._input_estimate = input_estimate
        self._mask = mask
        self._lost = LostFields(mask)
        self._text = TextPieces()
        self._thinking = TextPieces()
        self._tool_calls = ToolCallPieces(self._lost)
        self._index: int | None = None
        self._written_when_counted = 0
        self.finish_reason = ""
        self.usage: Usage | None = None

    def add(self, found: Mapping[str, Any]) -> Iterator[Delta]:
        """Take one object and give the text it brings, in order.

        Run it to its end: what it gave before it raised is part of the answer.

        Raises:
            ProviderError: the object reports an error, or does not have the format's shape.
        """
        self._lost.note_unknown(found, "", _KNOWN)
        groq = found.get("x_groq")
        usage = parse_usage(found.get("usage"), self._lost)
        if usage is None and isinstance(groq, Mapping):
            usage = parse_usage(groq.get("usage"), self._lost)
        if usage is not None:
            self.usage = usage
            self._written_when_counted = self._written()
        if error := reported(found, self._mask):
            raise error
        choices = found.get("choices")
        if choices is not None and not isinstance(choices, list):
            raise _misshapen("choices")
        for position, choice in enumerate(choices or ()):
            if not isinstance(choice, Mapping):
                raise _misshapen("choices[]")
            index = choice.get("index")
            index = index if isinstance(index, int) else position
            if self._index is None:
                self._index = index
            if index != self._index or (position and self._part == "message"):
                self._lost.note(f"choices[{max(index, position)}]")
                continue
            yield from self._choice(choice, f"choices[{index}]")
        if usage is not None:
            self._written_when_counted = self._written()

    def _choice(self, choice: Mapping[str, Any], path: str) -> Iterator[Delta]:
        if error := reported({"error": choice.get("error")}, self._mask):
            raise error
        self._lost.note_unknown(choice, path, _KNOWN_CHOICE)
        message = choice.get(self._part)
        if isinstance(message, Mapping):
            yield from self._message(message, f"{path}.{self._part}")
        elif message is not None or self._part == "message":
            raise _misshapen(f"{path}.{self._part}")
        reason = choice.get("finish_reason")
        if reason == "error":
            raise ProviderError(
                "The model server broke off the answer with an error",
                failure_class=FailureClass.SERVER_ERROR,
            )
        if isinstance(reason, str) and reason:
            self.finish_reason = servers_word(reason, self._mask)

    def _message(self, message: Mapping[str, Any], path: str) -> Iterator[Delta]:
        self._lost.note_unknown(message, path, _KNOWN_MESSAGE)
        yield from self._shown("thinking", self._reasoning(message, path))
        content = message.get("content")
        if isinstance(content, str):
            yield from self._shown("text", content)
        elif isinstance(content, list):
            for item in content:
                yield from self._content_part(item, f"{path}.content[]")
        elif content is not None:
            self._lost.note(f"{path}.content")
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            whole = self._part == "message"
            self._tool_calls.add(calls, f"{path}.tool_calls[]", whole=whole)
        elif holds_something(calls):
            self._lost.note(f"{path}.tool_calls")

    def _shown(self, kind: DeltaKind, piece: str) -> Iterator[Delta]:
        pieces = self._text if kind == "text" else self._thinking
        shown = pieces.add(piece) if piece else ""
        if shown:
            yield kind, shown

    def _reasoning(self, message: Mapping[str, Any], path: str) -> str:
        """Return the first of the three spellings of thinking; report one that differs."""
        chosen = ""
        for name in ("reasoning_content", "reasoning", "reasoning_details"):
            value = message.get(name)
            if name == "reasoning_details" and isinstance(value, list):
                value = self._details(value, f"{path}.{name}[]")
            if isinstance(value, str) and value and not chosen:
                chosen = value
            elif holds_something(value) and value != chosen:
                self._lost.note(f"{path}.{name}")
        return chosen

    def _details(self, details: list[Any], path: str) -> str:
        pieces = []
        for detail in details:
            if not isinstance(detail, Mapping):
                self._lost.note(path)
                continue
            self._lost.note_unknown(detail, path, _KNOWN_DETAIL)
            if isinstance(detail.get("text"), str):
                pieces.append(detail["text"])
        return "".join(pieces)

    def _content_part(self, part: Any, path: str) -> Iterator[Delta]:
        """Read a part of a content list; Mistral sends thinking as one, with parts of its own."""
        kind = part.get("type") if isinstance(part, Mapping) else None
        if isinstance(part, str):
            yield from self._shown("text", part)
        elif kind == "text" and isinstance(part.get("text"), str):
            self._lost.note_unknown(part, path, frozenset({"type", "text"}))
            yield from self._shown("text", part["text"])
        elif kind == "thinking":
            self._lost.note_unknown(part, path, frozenset({"type", "thinking", "closed"}))
            thinking = part.get("thinking")
            for inner in thinking if isinstance(thinking, list) else [thinking]:
                text = inner.get("text") if isinstance(inner, Mapping) else inner
                if isinstance(text, str):
                    yield from self._shown("thinking", text)
                elif holds_something(inner):
                    self._lost.note(f"{path}.thinking")
        elif holds_something(part):
            known = isinstance(kind, str) and kind.isidentifier() and len(kind) <= 40
            self._lost.note(f"{path}.{kind}" if known else path)

    def _written(self) -> int:
        return self._text.length + self._thinking.length + self._tool_calls.length

    def response(self, *, whole: bool) -> ModelResponse:
        """Return what was said so far.

        Args:
            whole: nothing is missing. Else there is no finish reason, tool calls that are not
                complete are left out, and tokens are never counted lower than what was seen.
        """
        seen = Usage(
            requests=1,
            input_tokens=self._input_estimate,
            output_tokens=estimated_tokens(self._written()),
            estimated=True,
        )
        usage = self.usage or seen
        older = self._written() > self._written_when_counted
        if not whole and older and usage.output_tokens < seen.output_tokens:
            usage = replace(seen, input_tokens=usage.input_tokens)
        return ModelResponse(
            text=self._text.text(),
            thinking=self._thinking.text(),
            tool_calls=self._tool_calls.calls(whole=whole),
            usage=usage,
            finish_reason=(self.finish_reason or "unknown") if whole else "",
            unrepresented=self._lost.paths(),
        )


def _misshapen(path: str) -> ProviderError:
    return ProviderError(
        f"The answer's {path} does not have the format's shape",
        failure_class=FailureClass.MALFORMED,
    )
