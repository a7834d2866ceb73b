"""A run as its screen shows it, built from the run's events alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from core.model import (
    Assembled,
    Cancelled,
    CancelLevel,
    CancelReceipt,
    CancelRequested,
    Completed,
    Delta,
    Event,
    Failed,
    InFlight,
    Message,
    Output,
    Receipt,
    Request,
    Response,
    Started,
    StepError,
    StepEvent,
    StepOutcome,
    TerminationReason,
    Tool,
    ToolCall,
    ToolStarted,
    Usage,
)
from playground.state.steps import RowKind, StepView


class Phase(StrEnum):
    """Where a run is, as one word for a person."""

    STARTING = "starting"
    RUNNING = "running"
    CANCELLING = "cancelling"
    ABORTING = "aborting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def live(self) -> bool:
        """True until the run is closed."""
        return self not in {Phase.COMPLETED, Phase.FAILED, Phase.CANCELLED}


MODEL_CALL = "model call"
_CHARS_A_TOKEN = 4
_STOPPING = {CancelLevel.BOUNDARY: Phase.CANCELLING, CancelLevel.ABORT: Phase.ABORTING}


class RunView:
    """The state behind the run screen. ``apply`` is the only way in for events.

    Attributes:
        rows: the step list, oldest first.
        transcript: the messages, in the order a model gets them.
        cancel_by, in_flight: the cancel that is under way, if any.
        receipt: what the cancel did, once it is over.
    """

    def __init__(self, run_id: str = "", *, model: str = "", attached: bool = False) -> None:
        self.run_id = run_id
        self.model = model
        self.attached = attached
        self.phase = Phase.STARTING
        self.request: dict[str, Any] = {}
        self.started_us: int | None = None
        self.ended_us: int | None = None
        self.round = 0
        self.tool_calls = 0
        self.usage = Usage()
        self.rows: list[StepView] = []
        self.transcript: list[Message] = []
        self.cancel_by = ""
        self.in_flight: tuple[InFlight, ...] = ()
        self.receipt: Receipt | None = None
        self.reason: TerminationReason | None = None
        self.error: StepError | None = None
        self.truncated = False
        self.last_seq = -1
        self._cancels: dict[CancelLevel, int] = {}
        self._taken: CancelLevel | None = None
        self._steps: dict[str, int] = {}
        self._live: set[int] = set()
        self._asked: tuple[ToolCall, ...] = ()
        self._answers: dict[str, Message] = {}

    def apply(self, events: Iterable[Event]) -> set[int]:
        """Take events in stream order.

        An event that was seen before changes nothing.

        Returns:
            The numbers of the rows that changed or are new.
        """
        changed: set[int] = set()
        for event in events:
            if event.seq is not None:
                if event.seq <= self.last_seq:
                    continue
                self.last_seq = event.seq
            row = self._apply(event)
            if row is not None:
                changed.add(row)
        return changed

    def asked(self, level: CancelLevel, now_us: int) -> None:
        """Show a cancel that was asked for here before the runtime has answered."""
        self._raise(level, now_us)

    @property
    def level(self) -> CancelLevel | None:
        """Return the level of the cancel that is under way or over, None if nobody asked."""
        return self.receipt.level if self.receipt else max(self._cancels, default=None)

    @property
    def cancel_us(self) -> int | None:
        """Return when that level was first asked for, UTC microseconds."""
        return self._cancels.get(self.level) if self.level is not None else None

    def acknowledged(self, receipt: CancelReceipt) -> None:
        """Take what the runtime said to the cancel."""
        if receipt.level is not None and self.phase.live:
            self.in_flight = receipt.in_flight
            self._take(receipt.level)

    def refused(self, level: CancelLevel) -> None:
        """Take back a level that the runtime did not accept; one below it may stand."""
        if self.phase.live and (self._taken is None or level > self._taken):
            self._cancels.pop(level, None)
            self._settle()

    def elapsed_ms(self, now_us: int) -> float | None:
        """Return the run's wall time in milliseconds, None before it started."""
        if self.started_us is None:
            return None
        return max(0, (self.ended_us or now_us) - self.started_us) / 1000

    @property
    def max_rounds(self) -> int | None:
        """Return the run's bound on rounds, if it is known."""
        value = self.request.get("max_rounds")
        return value if isinstance(value, int) else None

    @property
    def live_steps(self) -> list[StepView]:
        """Return the steps that have begun and not ended."""
        return [self.rows[index] for index in self.live_rows]

    @property
    def streaming_tokens(self) -> int:
        """Return an estimate of the tokens that live model calls have written so far."""
        return sum(
            (row.text.total + row.thinking.total) // _CHARS_A_TOKEN
            for row in self.live_steps
            if row.kind is RowKind.MODEL
        )

    @property
    def live_rows(self) -> list[int]:
        """Return the numbers of the rows that are at work, oldest first."""
        return sorted(self._live)

    @property
    def waits_for(self) -> str:
        """Return what a boundary cancel waits for, by name; empty if for nothing."""
        names = [MODEL_CALL if row.kind is RowKind.MODEL else row.name for row in self.live_steps]
        return "" if not names else names[0] + (f" +{len(names) - 1}" if len(names) > 1 else "")

    def row_of(self, step: str) -> int | None:
        """Return the number of a step's row, None if it has none yet."""
        return self._steps.get(step)

    def step_label(self, step: str | None) -> str:
        """Return a step as a person calls it, with its id; empty for None."""
        if step is None:
            return ""
        index = self.row_of(step)
        row = self.rows[index] if index is not None else None
        return f"{row.kind.value} {row.name} ({step})" if row is not None else step

    def _raise(self, level: CancelLevel, at_us: int) -> None:
        if self.phase.live:
            self._cancels.setdefault(level, at_us)
            self._settle()

    def _take(self, level: CancelLevel) -> None:
        self._taken = level if self._taken is None else max(self._taken, level)

    def _settle(self) -> None:
        if self.level is not None:
            self.phase = _STOPPING[self.level]
        else:
            self.phase = Phase.STARTING if self.started_us is None else Phase.RUNNING

    def _add(self, row: StepView) -> int:
        self.rows.append(row)
        if row.step:
            self._steps[row.step] = len(self.rows) - 1
        self.round = max(self.round, row.round)
        return len(self.rows) - 1

    def _row(self, event: StepEvent, kind: RowKind) -> tuple[int, StepView]:
        # An outcome without its intent: the stream was read from the middle.
        index = self._steps.get(event.step)
        if index is None:
            index = self._add(
                StepView(kind, event.at_us, step=event.step, round=event.round, name=event.name)
            )
        return index, self.rows[index]

    def _apply(self, event: Event) -> int | None:
        handler = _HANDLERS.get(type(event), RunView._other)
        return handler(self, event)

    def _other(self, event: Event) -> int:
        row = StepView(RowKind.OTHER, event.at_us, round=event.round, name=event.kind.value)
        row.event, row.duration_ms = event, event.duration_ms
        return self._add(row)

    def _started(self, event: Started) -> None:
        self.run_id, self.model = event.run_id, event.model
        self.request = dict(event.request)
        self.started_us = event.at_us
        if self.phase is Phase.STARTING:
            self.phase = Phase.RUNNING

    def _assembled(self, event: Assembled) -> int:
        self.transcript = list(event.messages)
        index, row = self._row(event, RowKind.ASSEMBLED)
        row.messages, row.offered = len(event.messages), event.tools
        row.duration_ms, row.event = event.duration_ms, event
        return index

    def _tool_started(self, event: ToolStarted) -> int:
        index, row = self._row(event, RowKind.TOOL)
        row.live, row.remote = True, self.attached
        row.arguments, row.event = event.arguments, event
        self._live.add(index)
        return index

    def _output(self, event: Output) -> int:
        index, row = self._row(event, RowKind.TOOL)
        row.output.append(event.text, event.offset)
        return index

    def _cancel_requested(self, event: CancelRequested) -> int:
        self._raise(event.level, event.at_us)
        self._take(event.level)
        self.cancel_by, self.in_flight = event.by, event.in_flight
        row = StepView(RowKind.CANCEL, event.at_us, round=event.round, name=event.by)
        row.event = event
        return self._add(row)

    def _delta(self, event: Delta) -> int:
        index, row = self._row(event, RowKind.MODEL)
        if event.text:
            row.text.append(event.text, event.offset)
        else:
            row.thinking.append(event.thinking, event.offset)
        return index

    def _request(self, event: Request) -> int:
        self.transcript.extend(
            self._answers[call.id] for call in self._asked if call.id in self._answers
        )
        self._asked, self._answers = (), {}
        index, row = self._row(event, RowKind.MODEL)
        row.live, row.remote = True, self.attached
        row.attempt, row.messages, row.event = event.attempt, event.messages, event
        self._live.add(index)
        return index

    def _response(self, event: Response) -> int:
        index, row = self._row(event, RowKind.MODEL)
        self._live.discard(index)
        self._outcome(row, event, event.outcome, event.executed, event.error)
        row.text.replace(event.text)
        row.thinking.replace(event.thinking)
        row.usage, row.calls, row.raw = event.usage, event.tool_calls, event.raw
        row.finish_reason = event.finish_reason
        self.usage += event.usage
        if event.outcome is StepOutcome.OK:
            self.transcript.append(
                Message(role="assistant", content=event.text, tool_calls=event.tool_calls)
            )
            self._asked, self._answers = event.tool_calls, {}
        return index

    def _tool(self, event: Tool) -> int:
        index, row = self._row(event, RowKind.TOOL)
        self._live.discard(index)
        self._outcome(row, event, event.outcome, event.executed, event.error)
        row.text.replace(event.result)
        self._answers[event.tool_call_id] = Message(
            role="tool", content=event.result, tool_call_id=event.tool_call_id
        )
        if event.executed:
            self.tool_calls += 1
        return index

    def _outcome(
        self,
        row: StepView,
        event: StepEvent,
        outcome: StepOutcome,
        executed: bool,
        error: StepError | None,
    ) -> None:
        row.live, row.outcome, row.executed, row.error = False, outcome, executed, error
        row.duration_ms, row.call_ids, row.event = event.duration_ms, event.call_ids, event
        if row.duration_ms is None and executed:
            row.duration_ms = (event.at_us - row.at_us) / 1000

    def _end(self, event: Completed | Failed | Cancelled) -> int:
        self.usage, self.tool_calls = event.usage, event.tool_calls
        self.round = max(self.round, event.rounds)
        self.ended_us = event.at_us
        for left in self.live_steps:  # their owner died before it could say how they ended
            left.live, left.outcome = False, StepOutcome.UNKNOWN
        self._live.clear()
        row = StepView(RowKind(event.kind.value), event.at_us, event=event, usage=event.usage)
        row.text.replace(event.text)
        row.duration_ms = self.elapsed_ms(event.at_us)
        match event:
            case Completed():
                self.phase, self.reason = Phase.COMPLETED, event.termination_reason
                self.truncated = event.truncated
            case Failed():
                self.phase, self.reason = Phase.FAILED, event.termination_reason
                self.error = row.error = event.error
            case Cancelled():
                self.phase, self.receipt = Phase.CANCELLED, event.receipt
                self.reason = TerminationReason.CANCELLED
                self.cancel_by = event.receipt.requested_by
        return self._add(row)


_HANDLERS: dict[type[Event], Callable[[RunView, Any], int | None]] = {
    Started: RunView._started,
    Assembled: RunView._assembled,
    Request: RunView._request,
    Response: RunView._response,
    ToolStarted: RunView._tool_started,
    Tool: RunView._tool,
    CancelRequested: RunView._cancel_requested,
    Completed: RunView._end,
    Failed: RunView._end,
    Cancelled: RunView._end,
    Delta: RunView._delta,
    Output: RunView._output,
}
