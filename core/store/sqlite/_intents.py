"""The SQL of calls that are about to be handed over: what is known of them if we die."""

# ruff: noqa: S608 - statements are put together from our own constants; values are bound

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from core.model.audit import AuditEntry, AuditRow
from core.model.words import AuditAction
from core.store.sqlite import _audit
from core.store.sqlite._sealing import Sealing
from core.store.sqlite._transact import Transaction

_FIELDS = (
    "call_id",
    "at_us",
    "method",
    "host",
    "path",
    "credential",
    "run_id",
    "step",
    "actor",
)
_BEGIN = f"""
    INSERT INTO call_intent ({", ".join(_FIELDS)}, owner)
    SELECT {", ".join("?" * len(_FIELDS))}, ?
    WHERE NOT EXISTS (SELECT 1 FROM audit WHERE call_id = ?)
    ON CONFLICT (call_id) DO NOTHING
"""
SELECT_OTHER_OWNERS = "SELECT DISTINCT owner FROM call_intent WHERE owner <> ? LIMIT 100000"
_LEFT = f"""
    SELECT {", ".join(_FIELDS)} FROM call_intent WHERE owner = ? ORDER BY at_us, call_id
"""
_OUTCOME_UNKNOWN = "The process died after the intent: outcome unknown"
_EXPOSED = f"{_OUTCOME_UNKNOWN}, treat the credential as exposed"
_values = attrgetter(*_FIELDS)


def begin(transaction: Transaction, entry: AuditEntry, owner: str) -> None:
    """Store a call's intent; do nothing if its row, or the intent itself, is there."""
    transaction.connection.execute(_BEGIN, (*_values(entry), owner, entry.call_id))


def close(
    transaction: Transaction, sealing: Sealing, owners: Sequence[str], at_us: int
) -> list[AuditRow]:
    """Append the row of each call that ``owners``, all dead, left; each takes its intent away."""
    execute = transaction.connection.execute
    return [
        _audit.append(transaction, sealing, _interrupted(values, at_us))
        for owner in owners
        for values in execute(_LEFT, (owner,)).fetchall()
    ]


def _interrupted(values: Sequence[Any], at_us: int) -> AuditEntry:
    intent = AuditEntry(
        **dict(zip(_FIELDS, values, strict=True)),
        action=AuditAction.HTTP_CALL_INTERRUPTED,
        success=False,
    )
    message = _OUTCOME_UNKNOWN if intent.credential is None else _EXPOSED
    return replace(intent, at_us=at_us, message=message)
