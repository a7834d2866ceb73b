"""The tool loop: ask the model, run the tools it asks for, until it answers.

Everything that costs money or has an effect goes through the step hook, so the loop
itself needs to know nothing about stopping.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.agent.attempts import ask
from core.agent.hook import StepHook, StepScope, ToolReply, ToolStep
from core.agent.plan import LoopResult, Plan, Spending, Transcript
from core.errors import RequestCancelled, StepbrakeError
from core.model.events import StepError
from core.model.messages import Message, ModelResponse, ToolCall
from core.model.words import Effect, StepOutcome, TerminationReason
from core.tools.base import DEADLINE_S, Tool, ToolError, bound_result


async def run_loop(plan: Plan, hook: StepHook) -> LoopResult:
    """Run a plan to its end.

    Raises:
        Stopped: the hook said that nothing more may start.
        ModelFailed: the model call failed and no further attempt is allowed.
    """
    transcript = Transcript(plan.messages)
    spending = Spending(plan.limits)
    await hook.assembled(plan.messages, plan.tools.offered)
    if plan.dry_run:
        return LoopResult(text="", reason=TerminationReason.COMPLETED)
    text = ""
    for number in range(1, plan.limits.max_rounds + 1):
        if not spending.tokens_left:
            return _exhausted(text)
        response = await ask(plan, hook, transcript, spending, round=number, with_tools=True)
        text = response.text or text
        if not response.tool_calls:
            return LoopResult(
                text=response.text,
                reason=TerminationReason.COMPLETED,
                truncated=response.finish_reason == "length",
            )
        if not spending.allows(len(response.tool_calls)):
            return _exhausted(text)
        spending.tool_calls += len(response.tool_calls)
        transcript.append(Message("assistant", response.text, tool_calls=response.tool_calls))
        for result in await _run_tools(plan, hook, response, number):
            transcript.append(result)
    if not spending.tokens_left:
        return _exhausted(text)
    closing = await ask(
        plan, hook, transcript, spending, round=plan.limits.max_rounds + 1, with_tools=False
    )
    return LoopResult(
        text=closing.text or text, reason=TerminationReason.MAX_ROUNDS, truncated=True
    )


def _exhausted(text: str) -> LoopResult:
    return LoopResult(text=text, reason=TerminationReason.BUDGET_EXHAUSTED, truncated=True)


async def _run_tools(
    plan: Plan, hook: StepHook, response: ModelResponse, number: int
) -> list[Message]:
    results: list[Message] = []
    for group in _side_by_side(plan, response.tool_calls):
        replies = await hook.tools([_step(plan, call, tool, number) for call, tool in group])
        results.extend(
            Message("tool", reply.result, tool_call_id=call.id)
            for (call, _), reply in zip(group, replies, strict=True)
        )
    return results


_Group = list[tuple[ToolCall, Tool | ToolError]]


def _side_by_side(plan: Plan, calls: Sequence[ToolCall]) -> list[_Group]:
    """Group neighbours that may run at the same time: pure ones, unless the tool says no."""
    groups: list[_Group] = []
    open_group = False
    for call in calls:
        try:
            found: Tool | ToolError = plan.tools.find(call.name)
        except ToolError as error:
            found = error
        sociable = isinstance(found, ToolError) or (found.effect is Effect.PURE and not found.alone)
        if not (sociable and open_group):
            groups.append([])
        groups[-1].append((call, found))
        open_group = sociable
    return groups


def _step(plan: Plan, call: ToolCall, found: Tool | ToolError, number: int) -> ToolStep:
    async def body(scope: StepScope) -> ToolReply:
        if isinstance(found, ToolError):
            return failed(found, executed=False)
        context = plan.tool_context(scope.context, scope.signal, scope.key, scope.output)
        result = await plan.tools.run(call.name, call.arguments, context)
        return ToolReply(result=result, outcome=StepOutcome.OK)

    return ToolStep(
        round=number,
        call=call,
        effect=Effect.PURE if isinstance(found, ToolError) else found.effect,
        deadline_s=DEADLINE_S if isinstance(found, ToolError) else found.deadline_s,
        body=body,
    )


def failed(error: BaseException, *, executed: bool) -> ToolReply:
    """Return what the model is told about a failure; the run goes on.

    Only the family's own messages are passed on: another exception's text may hold
    anything, so its class alone is named.
    """
    if isinstance(error, StepbrakeError):
        code = getattr(error, "code", type(error).__name__)
        message = bound_result(error.what)
    else:
        code = "tool_raised"
        message = f"The tool raised {type(error).__name__}."
    return ToolReply(
        result=f"Error: {message}",
        outcome=_outcome(error),
        executed=executed,
        error=StepError(code=code, message=message),
    )


def _outcome(error: BaseException) -> StepOutcome:
    cancelled = isinstance(error, RequestCancelled)
    return StepOutcome.INTERRUPTED if cancelled else StepOutcome.ERROR
