"""Outcomes of steps whose intent is stored and whose body never began, or never ended."""

from __future__ import annotations

from core.model.events import Request, Response, StepError, Tool, ToolStarted
from core.model.usage import Usage
from core.model.words import StepOutcome
from core.runs.replies import NOT_EXECUTED

Intent = Request | ToolStarted


def never_begun(intent: Intent, at_us: int) -> Response | Tool:
    """Return the outcome of a step whose body was not allowed to begin."""
    return _outcome(intent, at_us, StepOutcome.INTERRUPTED, NOT_EXECUTED)


def never_ended(intent: Intent, at_us: int, error: StepError) -> Response | Tool:
    """Return the outcome of a step that may have happened, and may have been billed."""
    return _outcome(
        intent, at_us, StepOutcome.UNKNOWN, f"unknown: {error.message}", error, executed=True
    )


def _outcome(
    intent: Intent,
    at_us: int,
    outcome: StepOutcome,
    result: str,
    error: StepError | None = None,
    *,
    executed: bool = False,
) -> Response | Tool:
    if isinstance(intent, Request):
        return Response(
            run_id=intent.run_id,
            at_us=at_us,
            round=intent.round,
            step=intent.step,
            name=intent.name,
            text="",
            usage=Usage(requests=1, estimated=True) if executed else Usage(),
            outcome=outcome,
            executed=executed,
            error=error,
        )
    return Tool(
        run_id=intent.run_id,
        at_us=at_us,
        round=intent.round,
        step=intent.step,
        name=intent.name,
        tool_call_id=intent.tool_call_id,
        result=result,
        error=error,
        executed=executed,
        outcome=outcome,
    )
