"""The seam between the tool loop and whoever records and fences its steps.

The loop says what it wants to do; the hook makes it a step: it records the intent,
runs the body, records the outcome, or raises ``Stopped`` because nothing more may
start. The loop knows no run id, no flag and no store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.http import CallContext, CancelSignal
from core.model.events import StepError
from core.model.messages import Message, ToolCall
from core.model.words import Effect, StepOutcome
from core.providers.base import DeltaKind, ModelReply


class Stopped(Exception):
    """Nothing more may start; whoever drives the loop knows why."""


class StepScope(Protocol):
    """What the body of a step gets."""

    @property
    def signal(self) -> CancelSignal:
        """Return the signal that ends the body at once."""

    @property
    def context(self) -> CallContext:
        """Return on whose behalf the body's outbound calls are made."""

    @property
    def key(self) -> str:
        """Return a key that is the same for every try of this step, unique otherwise."""

    def delta(self, kind: DeltaKind, text: str) -> None:
        """Publish a piece of a streaming answer."""

    def output(self, text: str) -> None:
        """Publish a piece of what a tool prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """How one tool call ended.

    Attributes:
        result: what the model is told, error or not.
        outcome: how it ended.
        executed: False if the tool's body never began.
        error: why it failed, or None.
    """

    result: str
    outcome: StepOutcome
    executed: bool = True
    error: StepError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStep:
    """A model call that wants to be sent.

    Attributes:
        round: the round, from 1.
        name: the model entry.
        model: the name on the wire.
        attempt: from 1 within the round.
        messages: how many messages the transcript has.
        digest: SHA-256 of the transcript, hex.
        body: makes the call.
        deadline_s: seconds after which its end counts as unknown; the client's own
            bounds lie well below.
    """

    round: int
    name: str
    model: str
    attempt: int
    messages: int
    digest: str
    body: Callable[[StepScope], Awaitable[ModelReply]]
    deadline_s: float = 1_800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """A tool call that wants to run.

    Attributes:
        round: the round, from 1.
        call: what the model asked for.
        effect: what running it twice would do.
        deadline_s: seconds after which its end counts as unknown.
        body: runs the tool; what it raises becomes a reply (``failed``), never more.
    """

    round: int
    call: ToolCall
    effect: Effect
    deadline_s: float
    body: Callable[[StepScope], Awaitable[ToolReply]]


class StepHook(Protocol):
    """Makes steps of what the loop wants to do."""

    async def assembled(self, messages: Sequence[Message], tools: Sequence[str]) -> None:
        """Record the prompt as it will be sent."""

    async def model(self, step: ModelStep) -> ModelReply:
        """Make one model call, one attempt.

        Raises:
            Stopped: nothing more may start.
        """

    async def tools(self, steps: Sequence[ToolStep]) -> list[ToolReply]:
        """Run tool calls side by side; the replies stand in the order of the steps.

        Raises:
            Stopped: nothing more may start; calls that had begun have ended.
        """

    async def back_off(self, seconds: float) -> None:
        """Wait before another attempt. Nothing is in flight meanwhile.

        Raises:
            Stopped: nothing more may start; the wait ended at once.
        """
