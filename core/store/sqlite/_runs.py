"""The SQL of the runs' other transitions: begin, cancel, change hands."""

from __future__ import annotations

from core.model.audit import AuditEntry
from core.model.events import Cancelled, CancelRequested, Event
from core.model.receipts import CancelReceipt, Receipt
from core.model.runs import RunRow
from core.model.usage import Usage
from core.model.words import AuditAction, CancelLevel
from core.store.protocol import Claim
from core.store.sqlite import _audit
from core.store.sqlite._events import Draft, insert
from core.store.sqlite._rows import SELECT_ONE, from_row
from core.store.sqlite._sealing import Sealing
from core.store.sqlite._transact import Transaction
from core.text import storable

_CREATE = """
    INSERT INTO run (
        run_id, status, model, prompt, created_us, updated_us, owner, claim, next_seq, round,
        tool_calls, requests, input_tokens, output_tokens, estimated, open_steps, cancel_by,
        cancel_reason)
    VALUES (?, 'running', ?, ?, ?, ?, ?, 1, 1, 0, 0, 0, 0, 0, 0, '[]', '', '')
    ON CONFLICT (run_id) DO NOTHING
"""
_CANCEL = """
    UPDATE run SET
        status = 'cancelled', termination_reason = 'cancelled', updated_us = ?,
        cancel_us = coalesce(cancel_us, ?),
        cancel_by = CASE WHEN level IS NULL THEN ? ELSE cancel_by END,
        cancel_reason = CASE WHEN level IS NULL THEN ? ELSE cancel_reason END,
        cancel_seq = coalesce(cancel_seq, next_seq),
        level = ?,
        next_seq = next_seq + 1
    WHERE run_id = ? AND closed_us IS NULL AND coalesce(level, 0) < ?
    RETURNING next_seq - 1
"""
_CLOSE_UNOWNED = """
    UPDATE run SET closed_us = ?, end_seq = next_seq, next_seq = next_seq + 1
    WHERE run_id = ? AND owner IS NULL AND closed_us IS NULL
    RETURNING end_seq
"""
_TAKE_OVER = """
    UPDATE run SET claim = claim + 1, owner = ?, updated_us = ?
    WHERE run_id = ? AND claim = ? AND owner IS ? AND closed_us IS NULL
    RETURNING claim
"""


def create(transaction: Transaction, row: RunRow, started: Draft, owner: str) -> Claim:
    """Insert a running run with its first event; do nothing if it is there."""
    inserted = transaction.connection.execute(
        _CREATE,
        (
            row.run_id,
            storable(row.model),
            storable(row.prompt),
            row.created_us,
            row.updated_us,
            owner,
        ),
    ).rowcount
    if inserted:
        transaction.events += insert(transaction.connection, [started], 0)
    return Claim(row.run_id, 1)


def cancel(
    transaction: Transaction,
    sealing: Sealing,
    *,
    run_id: str,
    level: CancelLevel,
    by: str,
    reason: str,
    at_us: int,
) -> CancelReceipt | None:
    """Mark a run cancelled, or raise its level; close it if nobody drives it.

    None if there is no such run.
    """
    execute = transaction.connection.execute
    found = execute(SELECT_ONE, (run_id,)).fetchone()
    if found is None:
        return None
    run = from_row(found)
    values = (at_us, at_us, storable(by), storable(reason), level, run_id, level)
    won = execute(_CANCEL, values).fetchall()
    if not won:
        why = f"already {run.status}" if run.closed_us else "already requested at this level"
        return _receipt(run, run.level, changed=False, why=why)
    request = CancelRequested(
        run_id=run_id,
        at_us=at_us,
        round=run.round,
        level=level,
        by=by,
        reason=reason,
        in_flight=run.open_steps,
    )
    _store(transaction, request, won[0][0])
    if run.owner is None:
        _close_unowned(transaction, run, request)
    entry = AuditEntry(
        at_us=at_us,
        action=AuditAction.RUN_CANCEL_REQUESTED,
        success=True,
        run_id=run_id,
        actor=by,
    )
    _audit.append(transaction, sealing, entry)
    return _receipt(run, level, changed=True)


def take_over(transaction: Transaction, row: RunRow, owner: str, at_us: int) -> Claim | None:
    """Raise the claim of a run whose owner is dead; None if somebody was faster."""
    won = transaction.connection.execute(
        _TAKE_OVER, (owner, at_us, row.run_id, row.claim, row.owner)
    ).fetchall()
    return Claim(row.run_id, won[0][0]) if won else None


def _close_unowned(transaction: Transaction, run: RunRow, request: CancelRequested) -> None:
    receipt = Receipt(
        requested_at_us=request.at_us,
        requested_by=request.by,
        reason=request.reason,
        level=request.level,
        stopped_at_us=request.at_us,
        boundary=None,
        usage=run.usage,
        usage_in_flight=Usage(),
        usage_after_request=Usage(),
    )
    end = Cancelled(
        run_id=run.run_id,
        at_us=request.at_us,
        round=run.round,
        receipt=receipt,
        usage=run.usage,
        rounds=run.round,
        tool_calls=run.tool_calls,
    )
    (seq,) = transaction.connection.execute(_CLOSE_UNOWNED, (request.at_us, run.run_id)).fetchall()[
        0
    ]
    _store(transaction, end, seq)


def _store(transaction: Transaction, event: Event, seq: int) -> None:
    transaction.events += insert(transaction.connection, [Draft(event)], seq)


def _receipt(
    run: RunRow, level: CancelLevel | None, *, changed: bool, why: str = ""
) -> CancelReceipt:
    return CancelReceipt(
        changed=changed,
        run_id=run.run_id,
        status_before=run.status.value,
        level=level,
        in_flight=() if run.closed_us else run.open_steps,
        why=why,
    )
