"""Drives a claimed run to its end: the one place where a plan becomes a result."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from contextlib import suppress

from core.agent import ModelFailed, Plan, Stopped, run_loop
from core.clock import Clock
from core.errors import StoreUnavailable
from core.model.events import Cancelled, Event, StepError
from core.model.runs import RunResult, RunRow
from core.model.words import Outcome, RunStatus, TerminationReason
from core.runs.closing import Closer, End, Evidence
from core.runs.flag import StopFlag
from core.runs.recorder import ClaimLost, Recorder, StoreLost
from core.runs.recovery import Unrecorded, close_left
from core.runs.replies import step_error
from core.runs.results import result_of
from core.runs.segment import Segment
from core.store.protocol import Claim, RunStore
from core.text import KnownSecrets

_log = logging.getLogger(__name__)
_STORE_LOST = StepError(
    code=TerminationReason.STORE_UNAVAILABLE.value,
    message="The store took no write for 30 seconds",
)


class Executor:
    """One segment of one run.

    Args:
        store: where the run is.
        claim: the right to append to it.
        flag: the run's stop as this process knows it.
        clock: both clocks.
        actor: the name in audit rows of the run's calls.
        publish: takes events that are not stored.
        known: secrets that no event may hold.

    Attributes:
        recorder: what has been recorded and what is open.
    """

    def __init__(
        self,
        *,
        store: RunStore,
        claim: Claim,
        flag: StopFlag,
        clock: Clock,
        actor: str,
        publish: Callable[[Event], None],
        known: KnownSecrets,
    ) -> None:
        self._store = store
        self._claim = claim
        self._clock = clock
        self._run_id = claim.run_id
        self._evidence = Evidence()
        self.recorder = Recorder(store, claim, clock, flag)
        self._segment = Segment(
            claim=claim,
            recorder=self.recorder,
            flag=flag,
            clock=clock,
            actor=actor,
            publish=publish,
            evidence=self._evidence,
            known=known,
        )
        self._closer = Closer(claim.run_id, self.recorder, flag, clock, self._evidence)

    async def drive(self, plan: Plan) -> RunResult:
        """Run the plan and close the run. Never raises for an outcome."""
        try:
            return await self._closer.close(await self._end_of(plan))
        except StoreLost:
            return self._unrecorded(TerminationReason.STORE_UNAVAILABLE, _STORE_LOST)
        except ClaimLost:
            return await self._truth()
        except Exception as error:
            return self._unrecorded(TerminationReason.NOT_RETRYABLE, _internal(error))

    async def record_late(self, row: RunRow) -> RunResult | None:
        """Close a run whose end the store did not take in time; None if that failed again.

        Args:
            row: the run as it is now.
        """
        end = End(reason=TerminationReason.STORE_UNAVAILABLE, error=_STORE_LOST)
        own = Unrecorded(self.recorder.pending, end, self._evidence)
        return await close_left(self._store, row, self._claim, self._clock, own)

    def dropped(self) -> RunResult:
        """Return what a waiter is told if the program ended before the run did."""
        return RunResult(
            run_id=self._run_id,
            outcome=Outcome.CANCELLED,
            status=RunStatus.CANCELLED,
            termination_reason=TerminationReason.CANCELLED,
            text=self._evidence.text,
            usage=self.recorder.usage,
            recorded=False,
        )

    async def _end_of(self, plan: Plan) -> End | None:
        """Run the plan; None means that it was stopped."""
        try:
            result = await run_loop(plan, self._segment)
        except Stopped:
            return None
        except ModelFailed as failure:
            return End(reason=TerminationReason.PROVIDER_FAILED, error=step_error(failure.error))
        except (StoreLost, ClaimLost):
            raise
        except StoreUnavailable as error:
            reason = TerminationReason.STORE_UNAVAILABLE
            return End(reason=reason, error=StepError(code=reason.value, message=error.what))
        except Exception as error:
            return End(reason=TerminationReason.NOT_RETRYABLE, error=_internal(error))
        self._evidence.text = result.text
        return End(reason=result.reason, truncated=result.truncated)

    def _unrecorded(self, reason: TerminationReason, error: StepError) -> RunResult:
        return RunResult(
            run_id=self._run_id,
            outcome=Outcome.FAILED,
            status=RunStatus.FAILED,
            termination_reason=reason,
            text=self._evidence.text,
            usage=self.recorder.usage,
            error=error,
            recorded=False,
        )

    async def _truth(self) -> RunResult:
        """Report what the row says after somebody else took the run."""
        row: RunRow | None = None
        cancelled = False
        with suppress(StoreUnavailable):
            row = await self._store.get_run(self._run_id)
            cancelled = row is not None and row.status is RunStatus.CANCELLED
            if row is not None and cancelled and row.closed_us is not None:
                for end in await self._store.read_events(
                    self._run_id, after=-1, limit=row.next_seq
                ):
                    if isinstance(end, Cancelled):
                        return result_of(end)
        return RunResult(
            run_id=self._run_id,
            outcome=Outcome.CANCELLED if cancelled else Outcome.LEASE_LOST,
            status=row.status if row else RunStatus.FAILED,
            termination_reason=row.termination_reason if row else None,
            text=self._evidence.text,
            usage=self.recorder.usage,
            recorded=False,
        )


def _internal(error: Exception) -> StepError:
    # Its text may hold anything, also a secret: the places it came through are enough.
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error("A run failed inside the runtime: %s\n%s", type(error).__name__, places)
    return StepError(code="internal", message=f"The runtime raised {type(error).__name__}")
