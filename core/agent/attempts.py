"""One model call and its retries. Each send is an attempt with an intent of its own."""

from __future__ import annotations

from core.agent.hook import ModelStep, StepHook, StepScope
from core.agent.plan import Plan, Spending, Transcript
from core.errors import ProviderError
from core.model.messages import ModelRequest, ModelResponse
from core.model.words import FailureClass, StepOutcome
from core.providers.base import ModelReply

MAX_ATTEMPTS = 4
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 60.0


class ModelFailed(Exception):
    """The model call failed for good.

    Attributes:
        error: the last attempt's fault.
    """

    def __init__(self, error: ProviderError) -> None:
        super().__init__(error.what)
        self.error = error


async def ask(
    plan: Plan,
    hook: StepHook,
    transcript: Transcript,
    spending: Spending,
    *,
    round: int,  # noqa: A002 - the field's name everywhere
    with_tools: bool,
) -> ModelResponse:
    """Call the model until it answers; add what every attempt cost to ``spending``.

    Raises:
        Stopped: nothing more may start.
        ModelFailed: no attempt is left, the fault is not one to retry, or the server
            asks for a longer wait than we give.
    """
    request = ModelRequest(
        model=plan.model,
        messages=transcript.messages,
        tools=plan.tools.specs if with_tools else (),
        max_tokens=plan.limits.max_tokens,
        temperature=plan.temperature,
        thinking=plan.thinking,
        raw=plan.raw,
    )

    async def body(scope: StepScope) -> ModelReply:
        return await plan.provider.respond(
            request,
            http=plan.connect(scope.context),
            signal=scope.signal,
            on_delta=scope.delta,
        )

    attempt = 1
    while True:
        reply = await hook.model(
            ModelStep(
                round=round,
                name=plan.name,
                model=plan.model,
                attempt=attempt,
                messages=len(transcript),
                digest=transcript.digest,
                body=body,
            )
        )
        spending.usage += reply.response.usage
        if reply.outcome is StepOutcome.OK:
            return reply.response
        error = reply.error or ProviderError(
            "The model call ended without a result", failure_class=FailureClass.UNKNOWN
        )
        wait = _wait(error, attempt)
        if wait is None or not spending.tokens_left:
            raise ModelFailed(error)
        await hook.back_off(wait)
        attempt += 1


def _wait(error: ProviderError, attempt: int) -> float | None:
    """Return the seconds to wait before the next attempt, None if there is none."""
    if attempt >= MAX_ATTEMPTS or not FailureClass(error.failure_class).retryable:
        return None
    if error.retry_after is None:
        return float(min(FIRST_DELAY_S * 2 ** (attempt - 1), LONGEST_DELAY_S))
    return error.retry_after if error.retry_after <= LONGEST_DELAY_S else None
