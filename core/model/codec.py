"""Events to JSON and back.

The public form has every field of the event. The stored form leaves out what has a
column of its own: ``run_id``, ``seq``, ``kind``, ``at``, ``round`` and ``step``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import Any

from core.model.events import EVENT_TYPES, Event, StepError, iso_time
from core.model.messages import Message, ToolCall
from core.model.receipts import InFlight, Receipt, level_name
from core.model.usage import Usage
from core.model.words import CancelLevel, StepOutcome, TerminationReason

_COLUMNS = frozenset({"run_id", "seq", "at_us", "round", "step"})
_NAMES: dict[type[Any], tuple[str, ...]] = {}
_TYPES = {kind.kind.value: kind for kind in EVENT_TYPES}


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, CancelLevel):
        return level_name(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return {
        name.removesuffix("_us"): iso_time(item) if name.endswith("_us") else _plain(item)
        for name in _names(type(value))
        for item in (getattr(value, name),)
    }


def _names(kind: type[Any]) -> tuple[str, ...]:
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(entry.name for entry in fields(kind))
    return names


def to_json(event: Event) -> dict[str, Any]:
    """Return the event's public form: plain JSON values only."""
    head = {
        "run_id": event.run_id,
        "seq": event.seq,
        "kind": event.kind.value,
        "at": iso_time(event.at_us),
        "round": event.round,
        "duration_ms": event.duration_ms,
    }
    for name in _names(type(event)):
        if name not in head and name != "at_us":
            head[name] = _plain(getattr(event, name))
    return head


def to_body(event: Event) -> dict[str, Any]:
    """Return the event's stored form."""
    return {
        name: _plain(getattr(event, name)) for name in _names(type(event)) if name not in _COLUMNS
    }


def from_stored(
    *,
    run_id: str,
    seq: int,
    kind: str,
    at_us: int,
    round: int,  # noqa: A002 - the event's field is called so
    step: str | None,
    body: Mapping[str, Any],
) -> Event:
    """Build an event from its columns and its stored form.

    Raises:
        KeyError: the kind is not one this version knows.
        TypeError: the body does not fit the kind.
    """
    values: dict[str, Any] = {
        name: _READERS[name](value) if name in _READERS and value is not None else value
        for name, value in body.items()
    }
    if step is not None:
        values["step"] = step
    return _TYPES[kind](run_id=run_id, seq=seq, at_us=at_us, round=round, **values)


def usage_json(usage: Usage) -> dict[str, Any]:
    """Return a usage object."""
    plain: dict[str, Any] = _plain(usage)
    return plain


def level_from(name: str) -> CancelLevel:
    """Return the level called ``boundary`` or ``abort``."""
    return CancelLevel[name.upper()]


def _micros(text: str) -> int:
    parsed = datetime.fromisoformat(text)
    return int(parsed.timestamp()) * 1_000_000 + parsed.microsecond


def _receipt(value: Mapping[str, Any]) -> Receipt:
    return Receipt(
        requested_at_us=_micros(value["requested_at"]),
        requested_by=value["requested_by"],
        reason=value["reason"],
        level=level_from(value["level"]),
        stopped_at_us=_micros(value["stopped_at"]),
        boundary=value["boundary"],
        usage=Usage(**value["usage"]),
        usage_in_flight=Usage(**value["usage_in_flight"]),
        usage_after_request=Usage(**value["usage_after_request"]),
        calls_aborted=tuple(value["calls_aborted"]),
        credentials_exposed=tuple(value["credentials_exposed"]),
        left_running=_in_flight(value["left_running"]),
    )


def _in_flight(value: list[Mapping[str, str]]) -> tuple[InFlight, ...]:
    return tuple(InFlight(**item) for item in value)


def _message(value: Mapping[str, Any]) -> Message:
    return Message(
        role=value["role"],
        content=value["content"],
        tool_calls=_calls(value["tool_calls"]),
        tool_call_id=value["tool_call_id"],
    )


def _calls(value: Any) -> Any:
    # A terminal event's field of the same name is a count.
    return value if isinstance(value, int) else tuple(ToolCall(**item) for item in value)


def _messages(value: Any) -> Any:
    # A request's field of the same name is a count.
    return value if isinstance(value, int) else tuple(_message(item) for item in value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "call_ids": tuple,
    "error": lambda value: StepError(**value),
    "in_flight": _in_flight,
    "level": level_from,
    "messages": _messages,
    "outcome": StepOutcome,
    "receipt": _receipt,
    "termination_reason": TerminationReason,
    "tool_calls": _calls,
    "tools": tuple,
    "unrepresented": tuple,
    "usage": lambda value: Usage(**value),
}
