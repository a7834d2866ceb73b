"""Writes one run's boundaries, one after the other, until each is stored or time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from core.clock import Clock
from core.errors import StoreUnavailable
from core.model.events import (
    Cancelled,
    Completed,
    Event,
    Failed,
    Request,
    Response,
    StepEvent,
    Tool,
    ToolStarted,
)
from core.model.receipts import InFlight
from core.model.runs import RunRow
from core.model.usage import Usage
from core.model.words import CancelLevel, Effect
from core.runs.flag import StopFlag
from core.store.protocol import CancelFacts, Claim, Commit, Committed, RunStore, Verdict

PATIENCE_S = 30.0
_FIRST_DELAY_S = 0.05
_LONGEST_DELAY_S = 1.0
_LEVELS = {Verdict.STOP: CancelLevel.BOUNDARY, Verdict.ABORT: CancelLevel.ABORT}


class StoreLost(Exception):
    """The store took no write for 30 seconds."""


class ClaimLost(Exception):
    """Somebody else owns the run now."""


class Recorder:
    """The one writer of a claimed run.

    Outcomes wait here until a commit takes them: the next step's intent usually shares
    their transaction. A commit that fails is repeated, so the outcome it carried leads.

    Args:
        store: where the run is.
        claim: the right to append to it.
        clock: for the waits between tries.
        flag: raised to the level that a commit reports.
        row: the state to go on from if others have written the run before.
        patience_s: seconds of failing tries after which a commit is given up.

    Attributes:
        usage: what all outcomes so far cost.
        tool_calls: tool calls executed so far.
        round: the round of the latest event.
        cancel: who asked for a stop, once the row has said so.
        intents: the seq of each stored intent, by step.
        outcomes: what each recorded outcome cost and its seq, by step.
    """

    def __init__(
        self,
        store: RunStore,
        claim: Claim,
        clock: Clock,
        flag: StopFlag,
        *,
        row: RunRow | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._store = store
        self._claim = claim
        self._clock = clock
        self._flag = flag
        self._patience_s = patience_s
        self._lock = asyncio.Lock()
        self._pending: list[Event] = []
        self._open: dict[str, InFlight] = {}
        self._next_seq = 1
        self._verdict = Verdict.GO
        self._lost = False
        self.usage = Usage()
        self.tool_calls = 0
        self.round = 0
        if row is not None:
            self._open = {item.step: item for item in row.open_steps}
            self._next_seq = row.next_seq
            self.usage = row.usage
            self.tool_calls = row.tool_calls
            self.round = row.round
        self.cancel: CancelFacts | None = None
        self.intents: dict[str, int] = {}
        self.outcomes: dict[str, tuple[int, Usage]] = {}

    @property
    def open_steps(self) -> tuple[InFlight, ...]:
        """Return the intents without an outcome."""
        return tuple(self._open.values())

    @property
    def pending(self) -> tuple[Event, ...]:
        """Return the outcomes that no commit has confirmed yet."""
        return tuple(self._pending)

    def add(self, outcome: StepEvent) -> None:
        """Hand in an outcome; a later flush stores it."""
        self._pending.append(outcome)
        self.round = max(self.round, outcome.round)
        if isinstance(outcome, Response):
            self.usage += outcome.usage
        elif isinstance(outcome, Tool) and outcome.executed:
            self.tool_calls += 1

    async def flush(
        self,
        intents: Sequence[Request | ToolStarted] = (),
        *,
        close: Completed | Failed | Cancelled | None = None,
        probe: bool = False,
    ) -> Committed:
        """Store what waits, then ``intents`` or ``close`` if nobody cancelled.

        With nothing to store, ``probe`` asks the row all the same.

        Raises:
            ClaimLost: nothing was stored and nothing will be.
            StoreLost: the store stayed down.
        """
        async with self._lock:
            if self._lost:
                # Those who waited for the same store do not wait for as long again.
                raise StoreLost
            outcomes = tuple(self._pending)
            if not (outcomes or intents or close or probe):
                return Committed(verdict=self._verdict, next_seq=self._next_seq, cancel=self.cancel)
            done = {event.step for event in outcomes if isinstance(event, StepEvent)}
            still_open = {step: item for step, item in self._open.items() if step not in done}
            opened = still_open | {
                event.step: InFlight(event.step, event.kind.value, event.name) for event in intents
            }
            committed = await self._insist(
                Commit(
                    claim=self._claim,
                    outcomes=outcomes,
                    intents=tuple(intents),
                    close=close,
                    open_steps=tuple(still_open.values()),
                    opened_steps=tuple(opened.values()),
                    round=max([self.round, *(event.round for event in intents)]),
                    tool_calls=sum(
                        isinstance(event, Tool) and event.executed for event in outcomes
                    ),
                    durable=close is not None or any(map(_has_effect, intents)),
                )
            )
            if committed.verdict is Verdict.LOST:
                raise ClaimLost
            del self._pending[: len(outcomes)]
            self._open = opened if committed.verdict is Verdict.GO else still_open
            self._learn(committed)
            return committed

    async def _insist(self, commit: Commit) -> Committed:
        deadline = self._clock.monotonic() + self._patience_s
        delay = _FIRST_DELAY_S
        while True:
            try:
                return await self._store.commit(commit)
            except StoreUnavailable as error:
                if self._clock.monotonic() + delay > deadline:
                    self._lost = True
                    raise StoreLost from error
            commit = replace(commit, replay_from=self._next_seq)
            await self._clock.sleep(delay)
            delay = min(delay * 2, _LONGEST_DELAY_S)

    def note(self, event: Event) -> None:
        """Note a stored event for the receipt."""
        if event.seq is None or not isinstance(event, StepEvent):
            return
        if isinstance(event, (Request, ToolStarted)):
            self.intents[event.step] = event.seq
            self.round = max(self.round, event.round)
        else:
            cost = event.usage if isinstance(event, Response) else Usage()
            self.outcomes[event.step] = (event.seq, cost)

    def _learn(self, committed: Committed) -> None:
        self._next_seq = committed.next_seq
        self._verdict = committed.verdict
        for event in committed.events:
            self.note(event)
        if committed.cancel is not None:
            self.cancel = committed.cancel
        level = _LEVELS.get(committed.verdict)
        if level is not None:
            self._flag.raise_to(level)


def _has_effect(intent: Request | ToolStarted) -> bool:
    # A model call is billed, so that it may have begun must survive a power cut.
    return isinstance(intent, Request) or intent.effect != Effect.PURE
