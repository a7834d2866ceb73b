"""What a run of the loop works with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.http import CallContext, CancelSignal, VaultHttpClient
from core.model.messages import Message
from core.model.usage import Usage
from core.model.words import TerminationReason
from core.providers.base import Provider
from core.tools.base import ToolContext, ToolSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a run. None: no bound.

    Attributes:
        max_rounds: rounds that may use tools; then one closing answer without.
        max_tokens: of one response.
        max_total_tokens: of the whole run, checked before each call.
        max_tool_calls: of the whole run, checked before each turn.
    """

    max_rounds: int
    max_tokens: int | None = None
    max_total_tokens: int | None = None
    max_tool_calls: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run of the loop.

    Attributes:
        messages: the prompt, system message first if there is one.
        name: the model entry.
        model: the name on the wire.
        provider: speaks to the model.
        connect: the client for model calls made under a context.
        tools: the tools on offer.
        tool_context: what a tool gets, from its step's context, signal, key and output.
        limits: when to end by itself.
        temperature: 0 to 2, or None.
        thinking: ask for thinking, forbid it, or None.
        raw: keep each response's body.
        dry_run: end after the prompt is assembled.
    """

    messages: tuple[Message, ...]
    name: str
    model: str
    provider: Provider
    connect: Callable[[CallContext], VaultHttpClient]
    tools: ToolSet
    tool_context: Callable[[CallContext, CancelSignal, str, Callable[[str], None]], ToolContext]
    limits: Limits
    temperature: float | None = None
    thinking: bool | None = None
    raw: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopResult:
    """How the loop ended by itself.

    Attributes:
        text: the answer.
        reason: why it ended.
        truncated: whether the answer is less than what was asked for.
    """

    text: str
    reason: TerminationReason
    truncated: bool = False


class Spending:
    """What the run has spent so far, held against its limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.usage = Usage()
        self.tool_calls = 0

    @property
    def tokens_left(self) -> bool:
        """Return whether another model call may be made."""
        bound = self._limits.max_total_tokens
        return bound is None or self.usage.total_tokens < bound

    def allows(self, tool_calls: int) -> bool:
        """Return whether that many more tool calls may be made."""
        bound = self._limits.max_tool_calls
        return bound is None or self.tool_calls + tool_calls <= bound


class Transcript:
    """The messages of a run, with a digest that grows with them.

    Args:
        messages: the prompt.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages: list[Message] = []
        self._hash = hashlib.sha256()
        for message in messages:
            self.append(message)

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the messages, oldest first."""
        return tuple(self._messages)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of all messages, hex."""
        return self._hash.hexdigest()

    def append(self, message: Message) -> None:
        """Add a message at the end."""
        self._messages.append(message)
        calls = [[call.id, call.name, call.arguments] for call in message.tool_calls]
        fields = [message.role, message.content, calls, message.tool_call_id]
        self._hash.update(json.dumps(fields).encode() + b"\n")
