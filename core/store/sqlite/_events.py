"""Events as rows: a body up to 16 KiB stands in the row, a bigger one once, by its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from core.errors import StoreError
from core.model.codec import from_stored, to_body
from core.model.events import INTENT_KINDS, Event, EventKind, StepEvent
from core.store.sqlite._driver import Connection

_INLINE = 16_384

_INSERT = """
    INSERT INTO event (run_id, seq, kind, at_us, round, step, body, body_ref)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_SELECT = """
    SELECT event.run_id, seq, kind, at_us, round, step, coalesce(body, data)
    FROM event LEFT JOIN body ON sha256 = body_ref
"""
SELECT_PAGE = f"{_SELECT} WHERE event.run_id = ? AND seq > ? ORDER BY seq LIMIT ?"

_dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
_dumps_ascii = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


Key = tuple[str, int | None]


class Draft:
    """An event on its way into the store, encoded before the writer's turn.

    Attributes:
        key: what identifies it within its run when a commit is tried again.
    """

    __slots__ = ("_data", "_sha256", "event", "key")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.key = key_of(event)
        data = _dumps(to_body(event))
        size = len(data)
        if not data.isascii():
            try:
                size = len(data.encode())
            except UnicodeEncodeError:  # a lone surrogate has no UTF-8, only an escape
                data = _dumps_ascii(to_body(event))
                size = len(data)
        self._data = data
        self._sha256 = None if size <= _INLINE else hashlib.sha256(data.encode()).digest()

    def row(self, connection: Connection, seq: int) -> tuple[Any, ...]:
        """Return the values of ``_INSERT``; a big body is stored on the way."""
        event = self.event
        step = event.step if isinstance(event, StepEvent) else None
        body: str | None = self._data
        if self._sha256 is not None:
            connection.execute(
                "INSERT INTO body VALUES (?, ?) ON CONFLICT DO NOTHING", (self._sha256, body)
            )
            body = None
        kind = event.kind.value
        return event.run_id, seq, kind, event.at_us, event.round, step, body, self._sha256


def key_of(event: Event) -> Key:
    """Return what identifies an event within its run.

    A step has one event of each phase, a run has one end.
    """
    if isinstance(event, StepEvent):
        return event.step, _phase(event.kind)
    return event.kind, None if event.terminal else event.at_us


def insert(connection: Connection, drafts: Sequence[Draft], seq: int) -> list[Event]:
    """Store events from ``seq`` on, in order; return them as they are stored."""
    numbered = [(draft, seq + offset) for offset, draft in enumerate(drafts)]
    connection.executemany(_INSERT, [draft.row(connection, number) for draft, number in numbered])
    return [_at(draft.event, number) for draft, number in numbered]


def from_row(row: Sequence[Any]) -> Event:
    """Build the event of a row that ``SELECT_PAGE`` returns.

    Raises:
        StoreError: the row was altered, or is a later version's.
    """
    run_id, seq, kind, at_us, round_, step, body = row
    try:
        return from_stored(
            run_id=run_id,
            seq=seq,
            kind=kind,
            at_us=at_us,
            round=round_,
            step=step,
            body=json.loads(body),
        )
    except (KeyError, TypeError, ValueError):
        raise StoreError(
            "The run has an event that this version cannot read",
            where=f"{run_id}, event {seq}",
            hint="It was altered, or a later version made it: update stepbrake.",
        ) from None


def stored_since(connection: Connection, run_id: str, seq: int) -> list[Event]:
    """Return the events of a run from ``seq`` on."""
    return [from_row(row) for row in connection.execute(SELECT_PAGE, (run_id, seq - 1, -1))]


def _at(event: Event, seq: int) -> Event:
    # Four times as fast as dataclasses.replace or copy.copy.
    kind: Any = type(event)
    numbered: Event = object.__new__(kind)
    for name in _names(kind):
        object.__setattr__(numbered, name, getattr(event, name))
    object.__setattr__(numbered, "seq", seq)
    return numbered


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def _phase(kind: EventKind) -> int:
    if kind in INTENT_KINDS:
        return 0
    return 2 if kind is EventKind.LATE_RESULT else 1
