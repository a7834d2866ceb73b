"""What a cancel promises at once, and what it did in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.model.usage import Usage
from core.model.words import CancelLevel


@dataclass(frozen=True, slots=True)
class InFlight:
    """A step that had begun, or may still begin, when the cancel was acknowledged.

    Attributes:
        step: the step's id.
        kind: the kind of its intent, ``request`` or ``tool_started``.
        name: the model entry or the tool.
    """

    step: str
    kind: str
    name: str

    def to_json(self) -> dict[str, str]:
        """Return the step as JSON."""
        return {"step": self.step, "kind": self.kind, "name": self.name}


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReceipt:
    """What ``cancel()`` returns.

    Attributes:
        changed: whether this call changed anything.
        run_id: the run.
        status_before: its status when the call arrived.
        level: the level now in force.
        in_flight: steps that may still finish; nothing else starts.
        durable: False if the store had not answered within 250 ms.
        why: why nothing changed, else empty.
    """

    changed: bool
    run_id: str
    status_before: str
    level: CancelLevel | None
    in_flight: tuple[InFlight, ...] = ()
    durable: bool = True
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What the cancel did: part of the run's ``cancelled`` event.

    Attributes:
        requested_at_us: when it was asked for, UTC microseconds.
        requested_by: who asked.
        reason: their words.
        level: the highest level asked for.
        stopped_at_us: when the run stopped, UTC microseconds.
        boundary: the step at whose boundary it stopped, None if no step was in flight.
        usage: everything the run spent.
        usage_in_flight: spent by the steps that were in flight at the request.
        usage_after_request: spent by anything started after the request; measured, and 0.
        calls_aborted: ids of the outbound calls that were cut.
        credentials_exposed: names of the credentials those calls carried.
        left_running: steps whose end is unknown.
    """

    requested_at_us: int
    requested_by: str
    reason: str
    level: CancelLevel
    stopped_at_us: int
    boundary: str | None
    usage: Usage
    usage_in_flight: Usage
    usage_after_request: Usage
    calls_aborted: tuple[str, ...] = ()
    credentials_exposed: tuple[str, ...] = ()
    left_running: tuple[InFlight, ...] = field(default_factory=tuple)


def level_name(level: CancelLevel | None) -> str | None:
    """Return a level as it stands in JSON, ``boundary`` or ``abort``."""
    return None if level is None else level.name.lower()


def receipt_json(receipt: CancelReceipt) -> dict[str, Any]:
    """Return what ``cancel()`` returned as JSON."""
    return {
        "changed": receipt.changed,
        "run_id": receipt.run_id,
        "status_before": receipt.status_before,
        "level": level_name(receipt.level),
        "in_flight": [item.to_json() for item in receipt.in_flight],
        "durable": receipt.durable,
        "why": receipt.why,
    }
