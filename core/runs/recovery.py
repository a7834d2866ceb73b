"""Closes runs that were left behind: by a dead process, or while the store was down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.clock import Clock
from core.model.events import Event, Request, Response, StepError, StepEvent, Tool, ToolStarted
from core.model.runs import RunResult, RunRow
from core.model.words import TerminationReason
from core.runs.closing import Closer, End, Evidence
from core.runs.flag import StopFlag
from core.runs.recorder import ClaimLost, Recorder, StoreLost
from core.runs.stored import stored_events
from core.runs.unfinished import never_begun, never_ended
from core.store.protocol import Claim, RunStore

_ABANDONED = StepError(
    code=TerminationReason.ABANDONED.value,
    message="The process that drove the run ended without closing it",
)


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """What a segment of this process could not store.

    Attributes:
        outcomes: of steps that ended; a step without one never began.
        end: how the run ended.
        evidence: what its terminal event tells.
    """

    outcomes: Sequence[Event]
    end: End
    evidence: Evidence


async def close_left(
    store: RunStore, row: RunRow, claim: Claim, clock: Clock, own: Unrecorded | None = None
) -> RunResult | None:
    """Close a claimed run that nobody drives; None if that failed or was not needed.

    Args:
        store: where the run is.
        row: the run, read under the claim.
        claim: the right to close it.
        clock: for the times of events.
        own: what is known of its end here. None: open steps end as ``unknown``, they may
            have happened, and may have been billed.
    """
    # Whoever reaps comes again, so nobody waits here for a store that fails.
    recorder = Recorder(store, claim, clock, StopFlag(), row=row, patience_s=0)
    evidence = own.evidence if own else Evidence(left_running=list(row.open_steps))
    end = own.end if own else End(reason=TerminationReason.ABANDONED, error=_ABANDONED)
    open_intents: list[Request | ToolStarted] = []
    stored: set[str] = set()
    open_ids = {item.step for item in row.open_steps}
    for event in await stored_events(store, row.run_id):
        recorder.note(event)
        if isinstance(event, Request | ToolStarted):
            if event.step in open_ids:
                open_intents.append(event)
        elif isinstance(event, StepEvent):
            stored.add(event.step)
        if isinstance(event, Response) and own is None:
            evidence.text = event.text or evidence.text
    for outcome in own.outcomes if own else ():
        if isinstance(outcome, StepEvent) and outcome.step not in stored:
            recorder.add(outcome)
            stored.add(outcome.step)
    for intent in open_intents:
        if intent.step not in stored:
            recorder.add(_outcome(intent, clock.now_us(), own))
    closer = Closer(row.run_id, recorder, StopFlag(), clock, evidence)
    try:
        return await closer.close(end)
    except (ClaimLost, StoreLost):
        return None


def _outcome(intent: Request | ToolStarted, at_us: int, own: Unrecorded | None) -> Response | Tool:
    if own is not None:
        return never_begun(intent, at_us)
    return never_ended(intent, at_us, _ABANDONED)
