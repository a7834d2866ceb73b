"""One row of the step list: a step, or something that happened to the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from core.model import Event, StepError, StepOutcome, ToolCall, Usage
from playground.state.stream import StreamText


class RowKind(StrEnum):
    """What a row is; the value is the word it shows."""

    ASSEMBLED = "assembled"
    MODEL = "model"
    TOOL = "tool"
    CANCEL = "cancel"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OTHER = "event"


@dataclass(slots=True, eq=False)
class StepView:
    """What is known about one row.

    Attributes:
        kind: what it is.
        at_us: when it began, UTC microseconds.
        step: the step's id; empty for a row that is no step.
        round: the round it belongs to, 0 outside rounds.
        name: the model entry, the tool, or who asked.
        attempt: of a model call, from 1 within its round.
        live: it has begun and has no outcome yet.
        remote: another process does it: its text is not seen before its outcome.
        outcome: how it ended, None while live and for rows that are no steps.
        executed: False if its body never began.
        duration_ms: how long it took, None while live.
        usage: what it spent.
        text: a model's answer or a tool's result.
        thinking: a model's thinking.
        output: what a running tool prints.
        arguments: a tool call's arguments, as the model wrote them.
        calls: tool calls a model asked for.
        offered: tools on offer, by name.
        messages: how many messages of the transcript it was sent.
        finish_reason: the provider's word.
        error: why it failed.
        raw: a response's body, if it was captured.
        call_ids: audit rows of its outbound calls.
        event: its last event, for the structured view.
    """

    kind: RowKind
    at_us: int
    step: str = ""
    round: int = 0
    name: str = ""
    attempt: int = 1
    live: bool = False
    remote: bool = False
    outcome: StepOutcome | None = None
    executed: bool = True
    duration_ms: float | None = None
    usage: Usage = field(default_factory=Usage)
    text: StreamText = field(default_factory=StreamText)
    thinking: StreamText = field(default_factory=StreamText)
    output: StreamText = field(default_factory=StreamText)
    arguments: str = ""
    calls: tuple[ToolCall, ...] = ()
    offered: tuple[str, ...] = ()
    messages: int = 0
    finish_reason: str = ""
    error: StepError | None = None
    raw: str | None = None
    call_ids: tuple[str, ...] = ()
    event: Event | None = None

    def elapsed_ms(self, now_us: int) -> float | None:
        """Return how long it took, or has been running, in milliseconds."""
        if self.live:
            return max(0, now_us - self.at_us) / 1000
        return self.duration_ms
