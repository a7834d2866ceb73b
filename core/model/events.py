"""The events of a run's stream.

Persisted events have a dense ``seq`` from 0; ``Delta`` and ``Output`` live only in
the process that makes them and have ``seq`` None. ``to_json`` is the public form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar

from core.model.messages import Message, ToolCall
from core.model.receipts import InFlight, Receipt
from core.model.usage import Usage
from core.model.words import CancelLevel, StepOutcome, TerminationReason


class EventKind(StrEnum):
    """What an event says."""

    STARTED = "started"
    DROPPED = "dropped"
    ASSEMBLED = "assembled"
    CONTEXT = "context"
    REQUEST = "request"
    RESPONSE = "response"
    TOOL_STARTED = "tool_started"
    TOOL = "tool"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL = "approval"
    INPUT_REQUESTED = "input_requested"
    INPUT = "input"
    CANCEL_REQUESTED = "cancel_requested"
    LATE_RESULT = "late_result"
    REQUEUED = "requeued"
    RECLAIMED = "reclaimed"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELTA = "delta"
    OUTPUT = "output"


def iso_time(at_us: int) -> str:
    """Return UTC microseconds as RFC 3339 text with six decimals."""
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every event has.

    Attributes:
        run_id: the run.
        seq: position in the stream, None if the event is not persisted (yet).
        at_us: UTC microseconds since the epoch.
        round: the round it belongs to, from 1; 0 outside rounds.
        duration_ms: how long what it reports took, or None.
    """

    kind: ClassVar[EventKind]
    terminal: ClassVar[bool] = False

    run_id: str
    seq: int | None = None
    at_us: int
    round: int = 0
    duration_ms: float | None = None

    @property
    def at(self) -> datetime:
        """Return the time as an aware UTC datetime."""
        return datetime.fromtimestamp(self.at_us / 1_000_000, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent(Event):
    """An event of one step.

    Attributes:
        step: the step's id, unique in the run.
        name: the model entry or the tool.
        call_ids: audit rows of the calls that the step made, by ``call_id``.
    """

    step: str
    name: str = ""
    call_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Event):
    """The run exists. ``request`` is the RunRequest as JSON."""

    kind = EventKind.STARTED
    model: str
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled(StepEvent):
    """The prompt as it will be sent, with the tools on offer."""

    kind = EventKind.ASSEMBLED
    messages: tuple[Message, ...]
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(StepEvent):
    """Intent of a model call: it may now be sent.

    Attributes:
        model: the name on the wire.
        attempt: from 1 within the round.
        messages: how many messages the transcript has.
        digest: SHA-256 of the transcript, hex.
    """

    kind = EventKind.REQUEST
    model: str
    attempt: int
    messages: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepError:
    """Why a step failed.

    Attributes:
        code: a failure class or an error's stable code.
        message: one sentence without secrets.
    """

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(StepEvent):
    """Outcome of a model call, whole or partial.

    Attributes:
        executed: False if the call's body never began.
    """

    kind = EventKind.RESPONSE
    text: str
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    outcome: StepOutcome
    executed: bool = True
    error: StepError | None = None
    unrepresented: tuple[str, ...] = ()
    raw: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(StepEvent):
    """Intent of a tool call: its body may now begin."""

    kind = EventKind.TOOL_STARTED
    tool_call_id: str
    arguments: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(StepEvent):
    """Outcome of a tool call.

    Attributes:
        result: the text the model gets, error or not.
        executed: False if the tool's body never began.
    """

    kind = EventKind.TOOL
    tool_call_id: str
    result: str
    error: StepError | None = None
    executed: bool
    outcome: StepOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested(Event):
    """Somebody asked for the run to stop, or raised the level."""

    kind = EventKind.CANCEL_REQUESTED
    level: CancelLevel
    by: str
    reason: str = ""
    in_flight: tuple[InFlight, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed(Event):
    """The run is done."""

    kind = EventKind.COMPLETED
    terminal = True
    text: str
    termination_reason: TerminationReason
    truncated: bool = False
    usage: Usage
    rounds: int
    tool_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(Event):
    """The run failed. ``text`` is the last answer there was, if any."""

    kind = EventKind.FAILED
    terminal = True
    termination_reason: TerminationReason
    error: StepError
    text: str = ""
    usage: Usage
    rounds: int
    tool_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled(Event):
    """The run was stopped, and this is the receipt."""

    kind = EventKind.CANCELLED
    terminal = True
    receipt: Receipt
    text: str = ""
    usage: Usage
    rounds: int
    tool_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta(StepEvent):
    """A piece of a streaming answer: either ``text`` or ``thinking`` is not empty.

    Attributes:
        offset: characters of the same channel that came before.
    """

    kind = EventKind.DELTA
    offset: int
    text: str = ""
    thinking: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(StepEvent):
    """A piece of what a running tool prints. ``offset`` counts characters."""

    kind = EventKind.OUTPUT
    offset: int
    text: str


INTENT_KINDS = frozenset({EventKind.REQUEST, EventKind.TOOL_STARTED})
EVENT_TYPES: tuple[type[Event], ...] = (
    Started,
    Assembled,
    Request,
    Response,
    ToolStarted,
    Tool,
    CancelRequested,
    Completed,
    Failed,
    Cancelled,
    Delta,
    Output,
)
