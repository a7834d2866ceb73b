"""From a terminal event to what a waiter gets."""

from __future__ import annotations

from core.model.events import Cancelled, Completed, Event, Failed
from core.model.runs import RunResult
from core.model.words import Outcome, RunStatus, TerminationReason


def result_of(event: Event) -> RunResult:
    """Return the result that a terminal event stands for.

    Raises:
        TypeError: the event is not terminal.
    """
    match event:
        case Completed():
            return RunResult(
                run_id=event.run_id,
                outcome=Outcome.COMPLETED,
                status=RunStatus.COMPLETED,
                termination_reason=event.termination_reason,
                text=event.text,
                usage=event.usage,
            )
        case Failed():
            return RunResult(
                run_id=event.run_id,
                outcome=Outcome.FAILED,
                status=RunStatus.FAILED,
                termination_reason=event.termination_reason,
                text=event.text,
                usage=event.usage,
                error=event.error,
            )
        case Cancelled():
            return RunResult(
                run_id=event.run_id,
                outcome=Outcome.CANCELLED,
                status=RunStatus.CANCELLED,
                termination_reason=TerminationReason.CANCELLED,
                text=event.text,
                usage=event.usage,
                receipt=event.receipt,
            )
        case _:
            raise TypeError(f"{event.kind} ends no run")
