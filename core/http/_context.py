"""On whose behalf calls are made, and which ones were."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.model import AuditAction


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call whose ending is known.

    Attributes:
        call_id: the key of its audit row.
        action: the row's action.
        credential: the credential the call was made with, or None.
        exposed: True if the call was stopped after that credential was handed over.
    """

    call_id: str
    action: AuditAction
    credential: str | None
    exposed: bool


@dataclass(slots=True)
class CallContext:
    """Who calls, for which run and step; collects the calls made under it.

    Attributes:
        actor: the name in the audit row.
        run_id: the run, or None.
        step: the step within the run, or None.
        started: ids of all calls begun, in order.
        calls: calls that have ended, in order; a call whose row could not be
            written is here too.
    """

    actor: str = "program"
    run_id: str | None = None
    step: str | None = None
    started: list[str] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
