"""Closes a run: stores its one terminal event, whoever else tries at the same time."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.clock import Clock
from core.http import CallRecord
from core.model.events import Cancelled, Completed, Failed, StepError
from core.model.receipts import InFlight, Receipt
from core.model.runs import RunResult
from core.model.usage import Usage
from core.model.words import AuditAction, TerminationReason
from core.runs.flag import StopFlag
from core.runs.recorder import Recorder, StoreLost
from core.runs.results import result_of
from core.store.protocol import CancelFacts

_CUT = frozenset({AuditAction.HTTP_CALL_CANCELLED, AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL})
_NO_CANCEL = StepError(code="stopped", message="The run was stopped, and no cancel was stored")


@dataclass(slots=True)
class Evidence:
    """What the end of a run is told with.

    Attributes:
        text: the latest answer, whole or partial.
        left_running: steps whose end is unknown.
        calls: outbound calls of the steps that a stop cut.
    """

    text: str = ""
    left_running: list[InFlight] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a run wants to end, if nobody cancelled it.

    Attributes:
        reason: why.
        error: the fault, None if the run is done.
        truncated: whether the answer is less than what was asked for.
    """

    reason: TerminationReason
    error: StepError | None = None
    truncated: bool = False


class Closer:
    """Closes one claimed run.

    Args:
        run_id: the run.
        recorder: holds the claim and what was recorded.
        flag: the run's stop as this process knows it.
        clock: for the event's time.
        evidence: what the terminal event tells; read when the run is closed.
    """

    def __init__(
        self, run_id: str, recorder: Recorder, flag: StopFlag, clock: Clock, evidence: Evidence
    ) -> None:
        self._run_id = run_id
        self._recorder = recorder
        self._flag = flag
        self._clock = clock
        self._evidence = evidence

    async def close(self, end: End | None) -> RunResult:
        """Store the terminal event; a cancel that came first ends in a receipt.

        Args:
            end: how the run wants to end, None if it was stopped.

        Raises:
            ClaimLost: somebody else owns the run.
            StoreLost: the store stayed down.
        """
        cancel: CancelFacts | None = None
        while True:
            # A stop asked for in this process wins, although its write may still be on
            # its way.
            if not await self._flag.settled():
                # A commit would be tried no longer than that write was.
                raise StoreLost
            if end is None and cancel is None:
                cancel = (await self._recorder.flush(probe=True)).cancel
            committed = await self._recorder.flush(close=self._terminal(end, cancel))
            if committed.closed:
                return result_of(committed.events[-1])
            cancel = committed.cancel or cancel

    def _terminal(
        self, end: End | None, cancel: CancelFacts | None
    ) -> Completed | Failed | Cancelled:
        if cancel is not None:
            return self._cancelled(cancel)
        if end is None:
            # The flag was raised, and the write behind it changed nothing.
            return self._failed(TerminationReason.ABANDONED, _NO_CANCEL)
        if end.error is not None:
            return self._failed(end.reason, end.error)
        return Completed(
            run_id=self._run_id,
            at_us=self._clock.now_us(),
            round=self._recorder.round,
            text=self._evidence.text,
            termination_reason=end.reason,
            truncated=end.truncated,
            usage=self._recorder.usage,
            rounds=self._recorder.round,
            tool_calls=self._recorder.tool_calls,
        )

    def _failed(self, reason: TerminationReason, error: StepError) -> Failed:
        return Failed(
            run_id=self._run_id,
            at_us=self._clock.now_us(),
            round=self._recorder.round,
            termination_reason=reason,
            error=error,
            text=self._evidence.text,
            usage=self._recorder.usage,
            rounds=self._recorder.round,
            tool_calls=self._recorder.tool_calls,
        )

    def _cancelled(self, cancel: CancelFacts) -> Cancelled:
        now = self._clock.now_us()
        return Cancelled(
            run_id=self._run_id,
            at_us=now,
            round=self._recorder.round,
            receipt=build_receipt(cancel, self._recorder, self._evidence, now),
            text=self._evidence.text,
            usage=self._recorder.usage,
            rounds=self._recorder.round,
            tool_calls=self._recorder.tool_calls,
        )


def build_receipt(
    cancel: CancelFacts, recorder: Recorder, evidence: Evidence, at_us: int
) -> Receipt:
    """Return what a cancel did.

    A step was in flight if its intent was stored before the request and its outcome
    after it. A step whose intent was stored after the request must not exist; what it
    cost is measured all the same, so that a broken fence shows.
    """
    in_flight = Usage()
    after = Usage()
    boundary: tuple[int, str] | None = None
    for step, (seq, cost) in recorder.outcomes.items():
        begun = recorder.intents.get(step)
        if begun is None:
            continue
        if begun > cancel.seq:
            after += cost
        elif seq > cancel.seq:
            in_flight += cost
            boundary = max(boundary or (seq, step), (seq, step))
    cut = [call for call in evidence.calls if call.action in _CUT]
    exposed = [call.credential for call in cut if call.exposed and call.credential]
    return Receipt(
        requested_at_us=cancel.at_us,
        requested_by=cancel.by,
        reason=cancel.reason,
        level=cancel.level,
        stopped_at_us=at_us,
        boundary=boundary and boundary[1],
        usage=recorder.usage,
        usage_in_flight=in_flight,
        usage_after_request=after,
        calls_aborted=tuple(call.call_id for call in cut),
        credentials_exposed=tuple(dict.fromkeys(exposed)),
        left_running=tuple(evidence.left_running),
    )
