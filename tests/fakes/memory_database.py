"""What a memory store's processes share: the data, and each transaction on it at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from core.errors import StoreError, UnknownRun
from core.model import (
    AuditAction,
    AuditEntry,
    AuditRow,
    Cancelled,
    CancelLevel,
    CancelReceipt,
    CancelRequested,
    Event,
    EventKind,
    Receipt,
    Response,
    RunRow,
    RunStatus,
    Started,
    StepEvent,
    TerminationReason,
    Tool,
    Usage,
)
from core.model.secrets import SecretRecord
from core.store import CancelFacts, Claim, Commit, Committed, Seal, Verdict

_INTENTS = (EventKind.REQUEST, EventKind.TOOL_STARTED)


@dataclass(eq=False)
class MemoryDatabase:
    """What the processes of a test share.

    Attributes:
        alive: the owners that have not died.
        journal: the events of the transaction under way.
        watchers: for each process, whom it tells of changes.
    """

    database_id: str = "memory"
    runs: dict[str, RunRow] = field(default_factory=dict)
    events: dict[str, list[Event]] = field(default_factory=dict)
    audit: list[AuditRow] = field(default_factory=list)
    secrets: dict[str, SecretRecord] = field(default_factory=dict)
    alive: set[str] = field(default_factory=set)
    journal: list[Event] = field(default_factory=list)
    watchers: list[list[Callable[[], None]]] = field(default_factory=list)

    def create(self, row: RunRow, started: Started, owner: str) -> Claim:
        if row.run_id not in self.runs:
            self.runs[row.run_id] = replace(
                row,
                status=RunStatus.RUNNING,
                termination_reason=None,
                owner=owner,
                claim=1,
                next_seq=0,
                open_steps=(),
            )
            self.events[row.run_id] = []
            self._append(row.run_id, started)
        return Claim(row.run_id, 1)

    def commit(
        self, commit: Commit, *, intents_allowed: Callable[[RunRow], bool], now_us: int
    ) -> Committed:
        run_id = commit.claim.run_id
        row = self.runs.get(run_id)
        if row is None or row.claim != commit.claim.number:
            return Committed(verdict=Verdict.LOST)
        wanted = [*commit.outcomes, *commit.intents, *([commit.close] if commit.close else [])]
        earlier = self._earlier(commit, {_key(event) for event in wanted})
        if row.closed_us is not None:
            if commit.close is None or _key(commit.close) not in earlier:
                return Committed(verdict=Verdict.LOST)
            return self._committed(run_id, list(earlier.values()), closed=True)
        outcomes = [event for event in commit.outcomes if _key(event) not in earlier]
        intents = [event for event in commit.intents if _key(event) not in earlier]
        allowed = intents_allowed(row)
        self._check_unique(run_id, [*outcomes, *(intents if allowed else ())])
        usage = row.usage
        for event in outcomes:
            if isinstance(event, Response):
                usage += event.usage
        counted = sum(isinstance(event, Tool) and event.executed for event in earlier.values())
        started = bool(commit.intents) and (allowed or not intents)
        self.runs[run_id] = replace(
            row,
            updated_us=now_us,
            round=max(row.round, commit.round),
            tool_calls=row.tool_calls + max(0, commit.tool_calls - counted),
            usage=usage,
            open_steps=commit.opened_steps if started else commit.open_steps,
        )
        stored = self._append(run_id, *outcomes, *(intents if allowed else ()))
        end = self._close(run_id, commit, now_us)
        events = [*earlier.values(), *stored, *end]
        return self._committed(
            run_id, events, closed=bool(end), going=allowed if commit.intents else None
        )

    def _earlier(self, commit: Commit, wanted: set[object]) -> dict[object, Event]:
        if commit.replay_from is None:
            return {}
        events = self.events[commit.claim.run_id][commit.replay_from :]
        return {_key(event): event for event in events if _key(event) in wanted}

    def _check_unique(self, run_id: str, events: list[Event]) -> None:
        stored = {_key(event) for event in self.events[run_id] if isinstance(event, StepEvent)}
        for event in events:
            if _key(event) in stored:
                raise StoreError("A step has one intent and one outcome")
            stored.add(_key(event))

    def _close(self, run_id: str, commit: Commit, now_us: int) -> list[Event]:
        row, end = self.runs[run_id], commit.close
        if end is None:
            return []
        if isinstance(end, Cancelled):
            level, reason = end.receipt.level, TerminationReason.CANCELLED
        else:
            level, reason = None, end.termination_reason
        if row.level != level:
            return []
        self.runs[run_id] = replace(
            row,
            status=RunStatus(end.kind.value),
            termination_reason=reason,
            closed_us=now_us,
            owner=None,
        )
        return self._append(run_id, end)

    def _committed(
        self, run_id: str, events: list[Event], *, closed: bool, going: bool | None = None
    ) -> Committed:
        row = self.runs[run_id]
        if row.level is None or row.cancel_us is None or row.cancel_seq is None:
            cancel, verdict = None, Verdict.GO
        else:
            cancel = CancelFacts(
                at_us=row.cancel_us,
                by=row.cancel_by,
                reason=row.cancel_reason,
                level=row.level,
                seq=row.cancel_seq,
            )
            verdict = Verdict.ABORT if row.level is CancelLevel.ABORT else Verdict.STOP
        return Committed(
            verdict=Verdict.GO if going else verdict,
            events=tuple(sorted(events, key=lambda event: event.seq or 0)),
            next_seq=row.next_seq,
            cancel=cancel,
            closed=closed,
        )

    def cancel(
        self,
        run_id: str,
        *,
        level: CancelLevel,
        by: str,
        reason: str,
        at_us: int,
        seal: Seal,
    ) -> CancelReceipt:
        row = self.runs.get(run_id)
        if row is None:
            raise UnknownRun("There is no such run", where=run_id)
        receipt = CancelReceipt(
            changed=False,
            run_id=run_id,
            status_before=row.status.value,
            level=row.level,
            in_flight=() if row.closed_us is not None else row.open_steps,
        )
        if row.closed_us is not None:
            return replace(receipt, why=f"already {row.status}")
        if row.level is not None and row.level >= level:
            return replace(receipt, why="already requested at this level")
        first = row.level is None
        self.runs[run_id] = replace(
            row,
            status=RunStatus.CANCELLED,
            termination_reason=TerminationReason.CANCELLED,
            updated_us=at_us,
            level=level,
            cancel_us=at_us if first else row.cancel_us,
            cancel_by=by if first else row.cancel_by,
            cancel_reason=reason if first else row.cancel_reason,
            cancel_seq=row.next_seq if first else row.cancel_seq,
        )
        request = CancelRequested(
            run_id=run_id,
            at_us=at_us,
            round=row.round,
            level=level,
            by=by,
            reason=reason,
            in_flight=row.open_steps,
        )
        self._append(run_id, request)
        if row.owner is None:
            self._close_unowned(run_id, request)
        self.append_audit(
            AuditEntry(
                at_us=at_us,
                action=AuditAction.RUN_CANCEL_REQUESTED,
                success=True,
                run_id=run_id,
                actor=by,
            ),
            seal,
        )
        return replace(receipt, changed=True, level=level)

    def _close_unowned(self, run_id: str, request: CancelRequested) -> None:
        row = self.runs[run_id]
        receipt = Receipt(
            requested_at_us=request.at_us,
            requested_by=request.by,
            reason=request.reason,
            level=request.level,
            stopped_at_us=request.at_us,
            boundary=None,
            usage=row.usage,
            usage_in_flight=Usage(),
            usage_after_request=Usage(),
        )
        self.runs[run_id] = replace(row, closed_us=request.at_us)
        self._append(
            run_id,
            Cancelled(
                run_id=run_id,
                at_us=request.at_us,
                round=row.round,
                receipt=receipt,
                usage=row.usage,
                rounds=row.round,
                tool_calls=row.tool_calls,
            ),
        )

    def append_audit(self, entry: AuditEntry, seal: Seal) -> AuditRow:
        for row in self.audit:
            if entry.call_id is not None and row.call_id == entry.call_id:
                return row
        previous = self.audit[-1].mac if self.audit else None
        row = seal(previous, len(self.audit) + 1, entry)
        self.audit.append(row)
        return row

    def take_over(self, row: RunRow, owner: str) -> Claim | None:
        now = self.runs[row.run_id]
        same = (now.claim, now.owner) == (row.claim, row.owner) and now.closed_us is None
        if not same or row.owner in self.alive:
            return None
        self.runs[row.run_id] = replace(now, claim=now.claim + 1, owner=owner)
        return Claim(row.run_id, now.claim + 1)

    def _append(self, run_id: str, *events: Event) -> list[Event]:
        row = self.runs[run_id]
        stored: list[Event] = [
            replace(event, seq=row.next_seq + offset) for offset, event in enumerate(events)
        ]
        self.events[run_id] += stored
        self.runs[run_id] = replace(row, next_seq=row.next_seq + len(stored))
        self.journal += stored
        return stored


def _key(event: Event) -> object:
    if isinstance(event, StepEvent):
        return event.step, event.kind in _INTENTS
    return event.kind, None if event.terminal else event.at_us
