"""How a body's end becomes the outcome that is recorded."""

from __future__ import annotations

from dataclasses import replace

from core.agent import ToolReply, failed
from core.errors import ProviderError, StepbrakeError
from core.model.events import StepError
from core.model.messages import ModelResponse
from core.model.words import Effect, FailureClass, StepOutcome
from core.providers.base import ModelReply
from core.runs.steps import Ended

NOT_EXECUTED = "not executed: the run was cancelled"


def step_error(error: ProviderError | None) -> StepError | None:
    """Return a provider's fault as an event holds it."""
    if error is None:
        return None
    return StepError(code=error.failure_class, message=error.what)


def model_reply(ended: Ended[ModelReply], said: ModelResponse) -> ModelReply:
    """Return how a model call ended; ``said`` is what came before it gave no reply."""
    if ended.value is not None:
        if ended.overdue and ended.value.outcome is StepOutcome.INTERRUPTED:
            # Our own bound cut it, and not a person.
            timeout = _no_end(FailureClass.TIMEOUT)
            return replace(ended.value, outcome=StepOutcome.ERROR, error=timeout)
        return ended.value
    if ended.unknown:
        return ModelReply(said, StepOutcome.UNKNOWN, _no_end(FailureClass.UNKNOWN))
    if ended.error is not None:
        return ModelReply(said, StepOutcome.ERROR, _fault(ended.error))
    if ended.overdue:
        return ModelReply(said, StepOutcome.ERROR, _no_end(FailureClass.TIMEOUT))
    return ModelReply(said, StepOutcome.INTERRUPTED)


def _no_end(failure_class: FailureClass) -> ProviderError:
    return ProviderError("The call did not end by its deadline", failure_class=failure_class)


def _fault(error: BaseException) -> ProviderError:
    if isinstance(error, ProviderError):
        return error
    what = error.what if isinstance(error, StepbrakeError) else type(error).__name__
    return ProviderError(f"The provider raised: {what}", failure_class=FailureClass.UNKNOWN)


def tool_reply(ended: Ended[ToolReply], effect: Effect) -> ToolReply:
    """Return how a tool call ended.

    An effect that was cut at its deadline may have happened: told of an error, a model
    would ask for it again.
    """
    if not ended.begun:
        return ToolReply(result=NOT_EXECUTED, outcome=StepOutcome.INTERRUPTED, executed=False)
    cut_effect = ended.overdue and ended.value is None and effect is not Effect.PURE
    if ended.unknown or cut_effect:
        return ToolReply(
            result="unknown: the tool did not end by its deadline or when it was stopped",
            outcome=StepOutcome.UNKNOWN,
            error=StepError(code="no_end", message="The tool did not end; it may still run"),
        )
    if ended.value is not None:
        return ended.value
    if ended.overdue:
        return ToolReply(
            result="Error: the tool did not end by its deadline and was stopped",
            outcome=StepOutcome.ERROR,
            error=StepError(code="deadline", message="The tool did not end by its deadline"),
        )
    if ended.error is not None:
        return failed(ended.error, executed=True)
    return ToolReply(result="interrupted: the run was cancelled", outcome=StepOutcome.INTERRUPTED)
