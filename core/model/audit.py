"""One row of the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.model.words import AuditAction


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What a caller says about an event; the log adds ``seq`` and the chain.

    Attributes:
        at_us: UTC microseconds since the epoch.
        action: what happened; the log refuses anything but a member.
        success: whether it did what was asked.
        status: the HTTP status of the response's head, else 0.
        method: HTTP method, or None.
        host: canonical host without port, or None.
        path: URL path without query, or None.
        credential: identifier of a credential, never a value, or None.
        run_id: the run it belongs to, or None.
        step: the step it belongs to, or None.
        call_id: unique id of an outbound call, or None.
        actor: who did it.
        message: a fixed literal, or None.
    """

    at_us: int
    action: AuditAction
    success: bool
    status: int = 0
    method: str | None = None
    host: str | None = None
    path: str | None = None
    credential: str | None = None
    run_id: str | None = None
    step: str | None = None
    call_id: str | None = None
    actor: str
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow(AuditEntry):
    """A stored row.

    Attributes:
        seq: position in the log, from 1, without gaps.
        key_id: which chain key sealed it.
        mac: 32 bytes over the previous row's ``mac`` and this row.
    """

    seq: int
    key_id: str
    mac: bytes

    def to_json(self) -> dict[str, Any]:
        """Return the row's fields in their fixed order, without the chain's."""
        from core.model.events import iso_time

        return {
            "seq": self.seq,
            "at": iso_time(self.at_us),
            "action": self.action.value,
            "success": self.success,
            "status": self.status,
            "method": self.method,
            "host": self.host,
            "path": self.path,
            "credential": self.credential,
            "run_id": self.run_id,
            "step": self.step,
            "call_id": self.call_id,
            "actor": self.actor,
            "message": self.message,
        }
