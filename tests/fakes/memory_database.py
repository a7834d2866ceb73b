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
from core.model.secrets import ChainKeyRecord, SecretRecord
from core.store import CancelFacts, Claim, Commit, Committed, KeyRotation, Seal, Verdict

_INTENTS = (EventKind.REQUEST, EventKind.TOOL_STARTED)
_OUTCOME_UNKNOWN = "The process died after the intent: outcome unknown"
_EXPOSED = f"{_OUTCOME_UNKNOWN}, treat the credential as exposed"


@dataclass(eq=False)
class MemoryDatabase:
    """What the processes of a test share.

    Attributes:
        intents: the owner and the entry of each call under way.
        seals: those of rotated keys, by key id.
        alive: the owners that have not died.
        journal: the events of the transaction under way.
        audited: whether the transaction under way added an audit row.
        watchers: for each process, whom it tells of changes.
    """

    database_id: str = "memory"
    runs: dict[str, RunRow] = field(default_factory=dict)
    events: dict[str, list[Event]] = field(default_factory=dict)
    audit: list[AuditRow] = field(default_factory=list)
    intents: dict[str, tuple[str, AuditEntry]] = field(default_factory=dict)
    secrets: dict[str, SecretRecord] = field(default_factory=dict)
    chain_keys: dict[str, ChainKeyRecord] = field(default_factory=dict)
    seals: dict[str, Seal] = field(default_factory=dict)
    alive: set[str] = field(default_factory=set)
    journal: list[Event] = field(default_factory=list)
    audited: bool = False
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
            raise UnknownRun(run_id)
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
        if entry.call_id is not None:
            self.intents.pop(entry.call_id, None)
            known = self._row_of(entry.call_id)
            if known is not None:
                return known
        newest = self.audit[-1] if self.audit else None
        if newest is not None:
            seal = self.seals.get(newest.key_id, seal)
        row = seal(None if newest is None else newest.mac, len(self.audit) + 1, entry)
        self.audit.append(row)
        self.audited = True
        return row

    def begin_call(self, entry: AuditEntry, owner: str) -> None:
        assert entry.call_id is not None
        if self._row_of(entry.call_id) is None:
            self.intents.setdefault(entry.call_id, (owner, entry))

    def left_by_the_dead(self, owner: str) -> list[AuditEntry]:
        left = [
            entry
            for intent_owner, entry in self.intents.values()
            if intent_owner != owner and intent_owner not in self.alive
        ]
        return sorted(left, key=lambda entry: (entry.at_us, entry.call_id or ""))

    def close_interrupted(self, at_us: int, owner: str, seal: Seal) -> list[AuditRow]:
        return [
            self.append_audit(
                replace(
                    entry,
                    at_us=at_us,
                    action=AuditAction.HTTP_CALL_INTERRUPTED,
                    success=False,
                    status=0,
                    message=_OUTCOME_UNKNOWN if entry.credential is None else _EXPOSED,
                ),
                seal,
            )
            for entry in self.left_by_the_dead(owner)
        ]

    def rotate_key(self, rotation: KeyRotation) -> bool:
        before, records = rotation.before, {item.name: item for item in rotation.secrets}
        stored = {(item.name, item.version, item.key_id) for item in self.secrets.values()}
        if stored != {(item.name, item.version, before) for item in rotation.secrets}:
            return False
        head = self.audit[-1] if self.audit else None
        row = rotation.seal(head.mac if head else None, len(self.audit) + 1, rotation.entry)
        retired = {item.key_id: item for item in rotation.chain_keys if item.key_id != row.key_id}
        if before not in retired:
            raise ValueError("the key in use until now must be among the retired ones")
        if self.chain_keys.keys() - {row.key_id} != retired.keys() - {before} or any(
            item.wrapped_by != before for item in self.chain_keys.values()
        ):
            return False
        for name, record in self.secrets.items():
            new = records[name]
            self.secrets[name] = replace(
                record,
                format=new.format,
                key_id=new.key_id,
                wrapped_key=new.wrapped_key,
                nonce=new.nonce,
                ciphertext=new.ciphertext,
            )
        self.chain_keys = retired
        self.seals[row.key_id] = rotation.seal
        self.audit.append(row)
        self.audited = True
        return True

    def _row_of(self, call_id: str) -> AuditRow | None:
        return next((row for row in self.audit if row.call_id == call_id), None)

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
