"""The SQL of the audit log."""

# ruff: noqa: S608 - statements are put together from our own constants; values are bound

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from core.errors import StoreError
from core.model.audit import AuditEntry, AuditRow
from core.model.words import AuditAction
from core.store.protocol import AuditQuery, KeyRotation
from core.store.sqlite._sealing import Sealing
from core.store.sqlite._transact import Head, Transaction
from core.text import storable

COLUMNS = (
    "seq",
    "at_us",
    "action",
    "success",
    "status",
    "method",
    "host",
    "path",
    "credential",
    "run_id",
    "step",
    "call_id",
    "actor",
    "message",
    "key_id",
    "mac",
)
SELECT_COUNTS = "SELECT action, rows FROM audit_count LIMIT 1000"
# A process that could not get the new key goes on with a retired one: its rows do not count.
SELECT_KEY = """
    SELECT key_id FROM audit WHERE key_id NOT IN (SELECT key_id FROM chain_key)
    ORDER BY seq DESC LIMIT 1
"""
SELECT_SEALED_BY = "SELECT 1 FROM audit WHERE key_id = ? LIMIT 1"

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM audit"
_INSERT = f"""
    INSERT INTO audit ({", ".join(COLUMNS)}) VALUES ({", ".join("?" * len(COLUMNS))})
    ON CONFLICT (call_id) WHERE call_id IS NOT NULL DO NOTHING
"""
_SELECT_HEAD = """
    SELECT seq, mac, key_id, key_id IN (SELECT key_id FROM chain_key)
    FROM audit ORDER BY seq DESC LIMIT 1
"""
_END_CALL = "DELETE FROM call_intent WHERE call_id = ?"
_values = attrgetter(*COLUMNS)
_ACTIONS = {action.value: action for action in AuditAction}


def append(transaction: Transaction, sealing: Sealing, entry: AuditEntry) -> AuditRow:
    """Seal a row and store it; return the first row of its ``call_id`` if there is one.

    The call has ended: its intent goes.
    """
    execute = transaction.connection.execute
    if entry.call_id is not None:
        execute(_END_CALL, (entry.call_id,))
    head = transaction.head or _head(transaction, sealing)
    row = head.seal(head.mac, head.seq + 1, entry)
    if execute(_INSERT, _values(row)).rowcount == 0:
        return from_row(execute(f"{_SELECT} WHERE call_id = ? LIMIT 1", (row.call_id,)).fetchone())
    transaction.head = Head(row.seq, row.mac, head.seal)
    transaction.audited = True
    return row


def rotate(transaction: Transaction, sealing: Sealing, rotation: KeyRotation) -> None:
    """Append the row of a new key, sealed by it; what comes after is sealed by it too."""
    head = transaction.head or _head(transaction, sealing)
    transaction.head = replace(head, seal=rotation.seal)
    sealing.offer(rotation.seal)
    append(transaction, sealing, rotation.entry)


def _head(transaction: Transaction, sealing: Sealing) -> Head:
    execute = transaction.connection.execute
    found = execute(_SELECT_HEAD).fetchone()
    if found is None:
        return Head(0, None, sealing.seal())
    seq, mac, key_id, is_retired = found
    if is_retired:
        key_id = (execute(SELECT_KEY).fetchone() or (None,))[0]
    return Head(seq, mac, sealing.seal(key_id))


def from_row(row: Sequence[Any]) -> AuditRow:
    """Build a row from its columns.

    Raises:
        StoreError: the row was altered, or is a later version's.
    """
    return AuditRow(
        seq=row[0],
        at_us=row[1],
        action=action_of(row[2]),
        success=bool(row[3]),
        status=row[4],
        method=row[5],
        host=row[6],
        path=row[7],
        credential=row[8],
        run_id=row[9],
        step=row[10],
        call_id=row[11],
        actor=row[12],
        message=row[13],
        key_id=row[14],
        mac=row[15],
    )


def action_of(value: str) -> AuditAction:
    """Return the action a column names.

    Raises:
        StoreError: there is no such action.
    """
    action = _ACTIONS.get(value)
    if action is None:
        raise StoreError(
            "The audit log holds a row with an unknown action",
            hint="Run `playground audit verify`.",
        )
    return action


def page(query: AuditQuery, *, before: int | None, skip: int, limit: int) -> tuple[str, list[Any]]:
    """Return the statement of one page, newest first."""
    where, parameters = _where(query)
    if before is not None:
        where.append("seq < ?")
        parameters.append(before)
    if len(query.actions) > 1:
        # SQLite sorts the rows of all actions; a scan for each, merged, reads a page of each.
        return _merged(query, where, parameters, skip=skip, limit=limit)
    if query.actions:
        where.append("action = ?")
        parameters.append(query.actions[0].value)
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    statement = f"{_SELECT}{condition} ORDER BY seq DESC LIMIT ? OFFSET ?"
    return statement, [*parameters, limit, skip]


def count(query: AuditQuery) -> tuple[str, list[Any]]:
    """Return the statement that counts a query's rows."""
    where, parameters = _where(query)
    actions = [action.value for action in query.actions]
    if actions:
        where.append(f"action IN ({', '.join('?' * len(actions))})")
        parameters += actions
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    if len(where) == bool(actions):
        return f"SELECT coalesce(sum(rows), 0) FROM audit_count{condition} LIMIT 1", parameters
    return f"SELECT count(*) FROM audit{condition} LIMIT 1", parameters


_SINCE = "at_us >= ? AND seq >= (SELECT min(block) << 10 FROM audit_block WHERE last_us >= ?)"
_UNTIL = "at_us < ? AND seq < (SELECT (max(block) + 1) << 10 FROM audit_block WHERE first_us < ?)"


def _where(query: AuditQuery) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    parameters: list[Any] = []
    for condition, value in (
        ("run_id = ?", None if query.run_id is None else storable(query.run_id)),
        (_SINCE, query.since_us),
        (_UNTIL, query.until_us),
    ):
        if value is not None:
            where.append(condition)
            parameters += [value] * condition.count("?")
    return where, parameters


def _merged(
    query: AuditQuery, where: list[str], parameters: list[Any], *, skip: int, limit: int
) -> tuple[str, list[Any]]:
    condition = " AND ".join([*where, "action = ?"])
    scan = f"SELECT seq FROM audit WHERE {condition} ORDER BY seq DESC LIMIT ?"
    scans = " UNION ALL ".join([f"SELECT seq FROM ({scan})"] * len(query.actions))
    wanted = f"SELECT seq FROM ({scans}) ORDER BY seq DESC LIMIT ? OFFSET ?"
    values: list[Any] = []
    for action in query.actions:
        values += [*parameters, action.value, skip + limit]
    statement = f"{_SELECT} WHERE seq IN ({wanted}) ORDER BY seq DESC LIMIT ?"
    return statement, [*values, limit, skip, limit]
