"""One process driving one stretch of a run: the step hook that records and fences."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from core.agent import ModelStep, Stopped, ToolReply, ToolStep
from core.clock import Clock
from core.errors import StoreUnavailable
from core.http import CallContext, CancelSignal
from core.model.events import (
    Assembled,
    Event,
    Request,
    Response,
    StepEvent,
    Tool,
    ToolStarted,
)
from core.model.messages import Message
from core.model.receipts import InFlight
from core.model.words import Effect, StepOutcome
from core.providers.base import ModelReply
from core.runs.closing import Evidence
from core.runs.flag import StopFlag
from core.runs.masking import masked_model, masked_tool
from core.runs.recorder import ClaimLost, Recorder, StoreLost
from core.runs.replies import model_reply, step_error, tool_reply
from core.runs.scope import Scope
from core.runs.steps import Ended, StepRun
from core.runs.unfinished import never_begun
from core.store.protocol import Claim, Verdict
from core.text import KnownSecrets

_MODEL_PATIENCE_S = 2.0
_TOOL_PATIENCE_S = 0.1

T = TypeVar("T")


class Segment:
    """Drives the steps of one claimed run.

    Args:
        claim: what this segment holds; step ids carry its number.
        recorder: writes the boundaries.
        flag: the run's stop.
        clock: both clocks.
        actor: the name in audit rows of the run's calls.
        publish: takes events that are not stored.
        evidence: collects what the terminal event tells.
        known: secrets that nothing which leaves a step may hold.
    """

    def __init__(
        self,
        *,
        claim: Claim,
        recorder: Recorder,
        flag: StopFlag,
        clock: Clock,
        actor: str,
        publish: Callable[[Event], None],
        evidence: Evidence,
        known: KnownSecrets,
    ) -> None:
        self._run_id = claim.run_id
        self._claim_number = claim.number
        self._recorder = recorder
        self._flag = flag
        self._clock = clock
        self._actor = actor
        self._publish = publish
        self._evidence = evidence
        self._known = known
        self._steps = 0

    async def assembled(self, messages: Sequence[Message], tools: Sequence[str]) -> None:
        """Record the prompt as it will be sent."""
        self._recorder.add(
            Assembled(
                run_id=self._run_id,
                at_us=self._clock.now_us(),
                step=self._step_id(),
                messages=tuple(messages),
                tools=tuple(tools),
            )
        )

    async def model(self, step: ModelStep) -> ModelReply:
        """Make one model call, one attempt.

        Raises:
            Stopped: nothing more may start.
            StoreUnavailable: the call could not be accounted for.
        """
        scope = self._scope(step.round, step.name)
        await self._begin(
            Request(
                run_id=self._run_id,
                at_us=self._clock.now_us(),
                round=step.round,
                step=scope.step,
                name=step.name,
                model=step.model,
                attempt=step.attempt,
                messages=step.messages,
                digest=step.digest,
            )
        )
        ended = await self._run(scope, lambda: step.body(scope), step.deadline_s)
        reply = masked_model(model_reply(ended, scope.said), self._known)
        self._record_response(scope, reply, begun=ended.begun)
        if ended.unknown:
            self._evidence.left_running.append(InFlight(scope.step, Request.kind.value, step.name))
        if isinstance(ended.error, StoreUnavailable):
            # A call that could not be accounted for: no other model call can be either.
            raise ended.error
        if reply.outcome is StepOutcome.INTERRUPTED:
            await self._stop()
        return reply

    async def tools(self, steps: Sequence[ToolStep]) -> list[ToolReply]:
        """Run tool calls side by side."""
        scopes = [self._scope(step.round, step.call.name, step.call.name) for step in steps]
        await self._begin(
            *(
                ToolStarted(
                    run_id=self._run_id,
                    at_us=self._clock.now_us(),
                    round=step.round,
                    step=scope.step,
                    name=step.call.name,
                    tool_call_id=step.call.id,
                    arguments=step.call.arguments,
                    effect=step.effect.value,
                )
                for step, scope in zip(steps, scopes, strict=True)
            )
        )
        if len(steps) == 1:
            return [await self._tool(scopes[0], steps[0])]
        return await self._side_by_side(scopes, steps)

    async def back_off(self, seconds: float) -> None:
        """Wait before another attempt; a stop ends the wait at once."""
        await self._recorder.flush()
        if self._flag.level is None:
            sleep = asyncio.ensure_future(self._clock.sleep(seconds))
            raised = asyncio.ensure_future(self._flag.raised())
            try:
                await asyncio.wait({sleep, raised}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                sleep.cancel()
                raised.cancel()
        if self._flag.level is not None:
            await self._stop()

    async def _begin(self, *intents: Request | ToolStarted) -> None:
        if self._flag.level is not None:
            await self._stop()
        committed = await self._recorder.flush(intents)
        if committed.verdict is not Verdict.GO:
            stored = {event.step for event in committed.events if isinstance(event, StepEvent)}
            for intent in intents:
                # The commit's answer was lost, and a cancel came before its repetition.
                if intent.step in stored:
                    self._recorder.add(never_begun(intent, self._clock.now_us()))
            raise Stopped

    async def _stop(self) -> None:
        await self._recorder.flush()
        raise Stopped

    async def _side_by_side(
        self, scopes: Sequence[Scope], steps: Sequence[ToolStep]
    ) -> list[ToolReply]:
        waiting = len(steps)

        async def one(scope: Scope, step: ToolStep) -> ToolReply:
            nonlocal waiting
            reply = await self._tool(scope, step)
            waiting -= 1
            if waiting:
                # The last outcome shares the next intent's transaction; the others must
                # not wait for it.
                await self._recorder.flush()
            return reply

        ends = await asyncio.gather(
            *(one(scope, step) for scope, step in zip(scopes, steps, strict=True)),
            return_exceptions=True,
        )
        replies = [end for end in ends if isinstance(end, ToolReply)]
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        return replies

    async def _tool(self, scope: Scope, step: ToolStep) -> ToolReply:
        ended = await self._run(
            scope,
            lambda: step.body(scope),
            step.deadline_s,
            patience_s=_TOOL_PATIENCE_S,
            abortable=step.effect is not Effect.UNSAFE,
        )
        reply = masked_tool(tool_reply(ended, step.effect), self._known)
        if reply.outcome is StepOutcome.UNKNOWN:
            self._evidence.left_running.append(
                InFlight(scope.step, ToolStarted.kind.value, step.call.name)
            )
        self._recorder.add(
            Tool(
                run_id=self._run_id,
                at_us=self._clock.now_us(),
                round=step.round,
                duration_ms=scope.elapsed_ms if ended.begun else None,
                step=scope.step,
                name=step.call.name,
                call_ids=scope.call_ids,
                tool_call_id=step.call.id,
                result=reply.result,
                error=reply.error,
                executed=reply.executed,
                outcome=reply.outcome,
            )
        )
        return reply

    async def _run(
        self,
        scope: Scope,
        body: Callable[[], Awaitable[T]],
        deadline_s: float,
        *,
        patience_s: float = _MODEL_PATIENCE_S,
        abortable: bool = True,
    ) -> Ended[T]:
        scope.started = self._clock.monotonic()
        runner: StepRun[T] = StepRun(
            clock=self._clock,
            flag=self._flag,
            signal=scope.signal,
            deadline_s=deadline_s,
            patience_s=patience_s,
            abortable=abortable,
        )
        ended = await runner.run(body)
        scope.flush()
        if (ended.interrupted or ended.unknown) and not ended.overdue:
            self._evidence.calls.extend(scope.context.calls)
        return ended

    def _record_response(self, scope: Scope, reply: ModelReply, *, begun: bool) -> None:
        response = reply.response
        self._evidence.text = response.text or self._evidence.text
        self._recorder.add(
            Response(
                run_id=self._run_id,
                at_us=self._clock.now_us(),
                round=scope.round,
                duration_ms=scope.elapsed_ms if begun else None,
                step=scope.step,
                name=scope.name,
                call_ids=scope.call_ids,
                text=response.text,
                thinking=response.thinking,
                tool_calls=response.tool_calls,
                finish_reason=response.finish_reason,
                usage=response.usage,
                outcome=reply.outcome,
                executed=begun,
                error=step_error(reply.error),
                unrepresented=tuple(response.unrepresented),
                raw=response.raw,
            )
        )

    async def _may_go_on(self) -> bool:
        """Say whether a step in flight may make another round trip: the row is asked."""
        if self._flag.level is not None:
            return False
        try:
            return (await self._recorder.flush(probe=True)).verdict is Verdict.GO
        except (ClaimLost, StoreLost):
            # The step's own boundary meets the same end, and tells it.
            return False

    def _scope(self, number: int, name: str, tool: str | None = None) -> Scope:
        step = self._step_id()
        return Scope(
            step=step,
            round=number,
            name=name,
            signal=CancelSignal(),
            context=CallContext(
                actor=self._actor,
                run_id=self._run_id,
                step=step,
                tool=tool,
                may_go_on=self._may_go_on,
            ),
            key=f"{self._run_id}/{step}",
            started=self._clock.monotonic(),
            publish=self._publish,
            clock=self._clock,
            known=self._known,
        )

    def _step_id(self) -> str:
        self._steps += 1
        return f"{self._claim_number}.{self._steps}"
