"""A run's row: its columns, and what is read out of them."""

# ruff: noqa: S608 - statements are put together from our own constants; values are bound

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from core.model.receipts import InFlight
from core.model.runs import RunRow
from core.model.usage import Usage
from core.model.words import CancelLevel, RunStatus, TerminationReason

_COLUMNS = (
    "run_id, status, termination_reason, model, prompt, created_us, updated_us, closed_us, owner, "
    "claim, next_seq, round, tool_calls, requests, input_tokens, output_tokens, cost_usd, "
    "estimated, open_steps, cancel_us, cancel_by, cancel_reason, level, cancel_seq"
)
_SELECT = f"SELECT {_COLUMNS} FROM run"
SELECT_ONE = f"{_SELECT} WHERE run_id = ? LIMIT 1"
SELECT_UNCLOSED = (
    f"{_SELECT} WHERE closed_us IS NULL AND status IN ('running', 'cancelled') LIMIT 100000"
)
SELECT_NEWEST = f"{_SELECT} ORDER BY created_us DESC, run_id DESC LIMIT ?"
SELECT_OLDER = f"""
    {_SELECT} WHERE (created_us, run_id) <
        (SELECT created_us, run_id FROM run WHERE run_id = ?)
    ORDER BY created_us DESC, run_id DESC LIMIT ?
"""


def from_row(row: Sequence[Any]) -> RunRow:
    """Build a run from the columns."""
    reason, level = row[2], row[22]
    return RunRow(
        run_id=row[0],
        status=RunStatus(row[1]),
        termination_reason=None if reason is None else TerminationReason(reason),
        model=row[3],
        prompt=row[4],
        created_us=row[5],
        updated_us=row[6],
        closed_us=row[7],
        owner=row[8],
        claim=row[9],
        next_seq=row[10],
        round=row[11],
        tool_calls=row[12],
        usage=Usage(row[13], row[14], row[15], row[16], bool(row[17])),
        open_steps=steps_from(row[18]),
        cancel_us=row[19],
        cancel_by=row[20],
        cancel_reason=row[21],
        level=None if level is None else CancelLevel(level),
        cancel_seq=row[23],
    )


def steps_to(steps: Sequence[InFlight]) -> str:
    """Return open steps as the column holds them."""
    return json.dumps([(item.step, item.kind, item.name) for item in steps]) if steps else "[]"


def steps_from(column: str) -> tuple[InFlight, ...]:
    """Return the open steps that a column holds."""
    return tuple(InFlight(*item) for item in json.loads(column))
