"""A run's events as they come: its answer to stdout, the rest told on stderr."""

from __future__ import annotations

from collections.abc import AsyncIterable

from core.cli._describe import describe, receipt_lines
from core.cli._output import Output
from core.errors import (
    EXIT_CANCELLED,
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_RETRY,
    EXIT_SILENT,
    EXIT_WAITING,
)
from core.model import (
    Assembled,
    Cancelled,
    Delta,
    Event,
    FailureClass,
    Outcome,
    Response,
    StepError,
    TerminationReason,
    to_json,
)
from core.model import Output as ToolOutput

_WAITING = frozenset(
    {
        Outcome.AWAITING_APPROVAL,
        Outcome.AWAITING_INPUT,
        Outcome.GUARDRAIL_APPROVAL_REQUIRED,
    }
)
_AGAIN = frozenset({Outcome.REQUEUED, Outcome.LEASE_LOST})


async def follow(
    events: AsyncIterable[Event], out: Output, *, dry_run: bool = False
) -> Event | None:
    """Show events until the stream ends.

    Args:
        events: the run's events, in order.
        out: where they are shown.
        dry_run: the prompt is what the person wants to see.

    Returns:
        The terminal event, None if the stream ended without one.
    """
    shown = _Answer(out)
    last: Event | None = None
    async for event in events:
        if out.as_json:
            out.record(to_json(event))
        else:
            _tell(event, out, shown, dry_run=dry_run)
        await out.room()
        if event.terminal:
            last = event
    return last


class _Answer:
    """How much of the running step's text is on stdout. A slow reader loses deltas."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._step = ""
        self._shown = 0

    def delta(self, event: Delta) -> None:
        if event.step != self._step:
            self._step, self._shown = event.step, 0
        if event.text and event.offset == self._shown:
            self._out.piece(event.text)
            self._shown += len(event.text)

    def whole(self, event: Response) -> None:
        start = self._shown if event.step == self._step else 0
        self._out.piece(event.text[start:])
        self._out.end_line()
        self._shown = 0


def _tell(event: Event, out: Output, answer: _Answer, *, dry_run: bool) -> None:
    if isinstance(event, Delta):
        answer.delta(event)
        return
    if isinstance(event, Response):
        answer.whole(event)
    if isinstance(event, ToolOutput):
        for line in event.text.removesuffix("\n").split("\n"):
            out.note(f"  {event.name}: {line}")
        return
    out.note(describe(event))
    if isinstance(event, Cancelled):
        for line in receipt_lines(event.receipt):
            out.note(line)
    if dry_run and isinstance(event, Assembled):
        for message in event.messages:
            out.line(f"{message.role}: {message.content}")


def exit_code(outcome: Outcome, reason: TerminationReason | None, error: StepError | None) -> int:
    """Return the exit code for how a run, or a segment of it, ended."""
    if outcome is Outcome.COMPLETED:
        return EXIT_DONE
    if outcome is Outcome.CANCELLED:
        return EXIT_CANCELLED
    if outcome in _WAITING:
        return EXIT_WAITING
    if outcome in _AGAIN or reason is TerminationReason.STORE_UNAVAILABLE:
        return EXIT_RETRY
    if error is not None and error.code == FailureClass.TIMEOUT:
        return EXIT_SILENT
    return EXIT_FAILED


def terminal_exit_code(event: Event) -> int:
    """Return the exit code that a run's terminal event stands for."""
    return exit_code(
        Outcome(event.kind.value),
        getattr(event, "termination_reason", None),
        getattr(event, "error", None),
    )
