"""On whose behalf calls are made, and which ones were."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
    """Who calls, for which run and step; collects the calls that a step makes.

    Calls outside of a step are not collected: a client of the embedding program may live
    as long as the program.

    Attributes:
        actor: the name in the audit row.
        run_id: the run, or None.
        step: the step within the run, or None.
        tool: the tool that the step runs, or None.
        may_go_on: asked before a call makes another round trip; False stops the call.
        started: ids of all calls that the step began, in order.
        calls: those that have ended, in order; a call whose row could not be
            written is here too.
    """

    actor: str = "program"
    run_id: str | None = None
    step: str | None = None
    tool: str | None = None
    may_go_on: Callable[[], Awaitable[bool]] | None = None
    started: list[str] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)

    def begin(self, call_id: str) -> None:
        """Take note of a call that begins."""
        if self.step is not None:
            self.started.append(call_id)

    def end(self, record: CallRecord) -> None:
        """Take note of how a call ended."""
        if self.step is not None:
            self.calls.append(record)
