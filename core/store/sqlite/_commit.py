"""One boundary of a run in one transaction: record, fence, probe and intent."""

from __future__ import annotations

from functools import cache
from typing import Any

from core.model.events import Cancelled, Event, Response, Tool
from core.model.usage import Usage
from core.model.words import CancelLevel, TerminationReason
from core.store.protocol import CancelFacts, Commit, Committed, Verdict
from core.store.sqlite._driver import Connection
from core.store.sqlite._events import Draft, Key, insert, key_of, stored_since
from core.store.sqlite._rows import steps_to
from core.store.sqlite._transact import Transaction

# Whoever holds the claim of a run that is not closed may append; a cancelled run takes
# outcomes, but (the fence) no intents. One statement tests, counts and answers.
_BOUNDARY = """
    UPDATE run SET
        updated_us = ?,
        round = max(round, ?),
        tool_calls = tool_calls + ?,
        cost_usd = CASE
            WHEN ? THEN cost_usd
            WHEN requests = 0 AND input_tokens = 0 AND output_tokens = 0
                AND cost_usd IS NULL AND NOT estimated THEN ?
            ELSE cost_usd + ? END,
        requests = requests + ?,
        input_tokens = input_tokens + ?,
        output_tokens = output_tokens + ?,
        estimated = max(estimated, ?),
        open_steps = CASE WHEN {fence} THEN ? ELSE ? END,
        next_seq = next_seq + ? + CASE WHEN {fence} THEN ? ELSE 0 END
    WHERE run_id = ? AND claim = ? AND closed_us IS NULL
    RETURNING next_seq, {fence}, level, cancel_us, cancel_by, cancel_reason, cancel_seq
"""
# A run at a level its receipt does not name, or at none, is not closed by it.
_CLOSE = """
    UPDATE run SET
        status = ?, termination_reason = ?, closed_us = ?, owner = NULL,
        end_seq = next_seq, next_seq = next_seq + 1
    WHERE run_id = ? AND level IS ?
    RETURNING end_seq
"""
_FACTS = """
    SELECT claim, next_seq, level, cancel_us, cancel_by, cancel_reason, cancel_seq
    FROM run WHERE run_id = ? LIMIT 1
"""

_NOTHING = Usage()


@cache
def boundary(fence: str) -> str:
    """Return the guarded statement.

    Args:
        fence: SQL that is true while intents may be stored.
    """
    return _BOUNDARY.format(fence=f"({fence})")


class Boundary:
    """A commit on its way into the store: encoded on the loop, run by the writer.

    Args:
        commit: what to store.
        statement: what ``boundary`` returned.
        now_us: UTC microseconds.
    """

    def __init__(self, commit: Commit, statement: str, now_us: int) -> None:
        self._commit = commit
        self._statement = statement
        self._now_us = now_us
        self._outcomes = [Draft(event) for event in commit.outcomes]
        self._intents = [Draft(event) for event in commit.intents]
        self._close = None if commit.close is None else Draft(commit.close)
        self._open = steps_to(commit.open_steps)
        self._opened = steps_to(commit.opened_steps)

    @property
    def durable(self) -> bool:
        """Return whether it must survive a power cut."""
        return self._commit.durable or self._close is not None

    def __call__(self, transaction: Transaction) -> Committed:
        """Store it."""
        connection = transaction.connection
        earlier = self._earlier(connection)
        outcomes = [draft for draft in self._outcomes if draft.key not in earlier]
        intents = [draft for draft in self._intents if draft.key not in earlier]
        row = self._update(connection, outcomes, intents, earlier)
        if row is None:
            transaction.events += sorted(earlier.values(), key=_seq)
            return self._without_claim(connection, earlier)
        next_seq, allowed, level, *cancel = row
        drafts = [*outcomes, *intents] if allowed else outcomes
        stored = insert(connection, drafts, next_seq - len(drafts))
        closed = False
        end = self._end(connection)
        if end is not None:
            closed, next_seq = True, next_seq + 1
            stored.append(end)
        events = sorted([*earlier.values(), *stored], key=_seq)
        # An earlier try may have stored and told nobody; whoever has heard skips it.
        transaction.events += events
        return Committed(
            verdict=_verdict(level, going=bool(allowed) if self._intents else level is None),
            events=tuple(events),
            next_seq=next_seq,
            cancel=_facts(level, *cancel),
            closed=closed,
        )

    def _update(
        self,
        connection: Connection,
        outcomes: list[Draft],
        intents: list[Draft],
        earlier: dict[Key, Event],
    ) -> Any:
        commit = self._commit
        opened = self._opened if self._intents else self._open
        # What an earlier try has started is open, also if somebody cancelled since.
        started = opened if self._intents and not intents else self._open
        counted = sum(isinstance(event, Tool) and event.executed for event in earlier.values())
        spent = _NOTHING
        for draft in outcomes:
            if isinstance(draft.event, Response):
                spent += draft.event.usage
        parameters = (
            self._now_us,
            commit.round,
            max(0, commit.tool_calls - counted),
            spent == _NOTHING,
            spent.cost_usd,
            spent.cost_usd,
            spent.requests,
            spent.input_tokens,
            spent.output_tokens,
            spent.estimated,
            opened,
            started,
            len(outcomes),
            len(intents),
            commit.claim.run_id,
            commit.claim.number,
        )
        rows = connection.execute(self._statement, parameters).fetchall()
        return rows[0] if rows else None

    def _end(self, connection: Connection) -> Event | None:
        event = self._commit.close
        if event is None or self._close is None:
            return None
        level: CancelLevel | None = None
        if isinstance(event, Cancelled):
            level, reason = event.receipt.level, TerminationReason.CANCELLED
        else:
            reason = event.termination_reason
        rows = connection.execute(
            _CLOSE,
            (event.kind.value, reason.value, self._now_us, event.run_id, level),
        ).fetchall()
        return insert(connection, [self._close], rows[0][0])[0] if rows else None

    def _earlier(self, connection: Connection) -> dict[Key, Event]:
        """Return what an earlier try of this commit stored."""
        if self._commit.replay_from is None:
            return {}
        wanted = {draft.key for draft in (*self._outcomes, *self._intents)}
        if self._close is not None:
            wanted.add(self._close.key)
        events = stored_since(connection, self._commit.claim.run_id, self._commit.replay_from)
        return {key: event for event in events if (key := key_of(event)) in wanted}

    def _without_claim(self, connection: Connection, earlier: dict[Key, Event]) -> Committed:
        """Tell a lost claim from a run that an earlier try has closed."""
        row = connection.execute(_FACTS, (self._commit.claim.run_id,)).fetchone()
        ours = self._close is not None and self._close.key in earlier
        if row is None or not ours or row[0] != self._commit.claim.number:
            return Committed(verdict=Verdict.LOST)
        _, next_seq, level, *cancel = row
        return Committed(
            verdict=_verdict(level, going=level is None),
            events=tuple(sorted(earlier.values(), key=_seq)),
            next_seq=next_seq,
            cancel=_facts(level, *cancel),
            closed=True,
        )


def _verdict(level: int | None, *, going: bool) -> Verdict:
    if going:
        return Verdict.GO
    return Verdict.ABORT if level == CancelLevel.ABORT else Verdict.STOP


def _facts(
    level: int | None, at_us: int | None, by: str, reason: str, seq: int | None
) -> CancelFacts | None:
    if level is None or at_us is None or seq is None:
        return None
    return CancelFacts(at_us=at_us, by=by, reason=reason, level=CancelLevel(level), seq=seq)


def _seq(event: Event) -> int:
    return -1 if event.seq is None else event.seq
