"""What the log and the step are told of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.http._context import CallRecord
from core.http._gates import known_method
from core.http._outcomes import Ending
from core.model import AuditAction, AuditEntry

if TYPE_CHECKING:
    from core.http._call import Call, Plan


def entry_of(call: Call, ending: Ending | None, at_us: int) -> AuditEntry:
    """Return a call's row, or its intent: what its row is if the process dies before.

    Args:
        call: the call.
        ending: how it ended, None before it was sent.
        at_us: when, UTC microseconds.
    """
    context, url, answer = call.plan.context, call.url, call.plan.answer
    message = None if ending is None else ending.message
    if ending is Ending.TOKEN_REFUSED and answer is not None and answer.error is not None:
        message = f"{message} ({answer.error})"
    return AuditEntry(
        at_us=at_us,
        action=_action(call.plan, ending),
        success=ending is not None and ending.success,
        status=call.status,
        method=known_method(call.request),
        host=None if url is None else url.host,
        path=None if url is None else url.path,
        credential=_credential(call.plan),
        run_id=context.run_id,
        step=context.step,
        call_id=call.call_id,
        actor=context.actor,
        message=message,
    )


def record_of(call: Call, ending: Ending) -> CallRecord:
    """Return what the step that made the call is told of its end."""
    plan = call.plan
    return CallRecord(call.call_id, _action(plan, ending), _credential(plan), ending.exposed)


def _credential(plan: Plan) -> str | None:
    return None if plan.credential is None else plan.credential.name


def _action(plan: Plan, ending: Ending | None) -> AuditAction:
    if ending is None:
        return AuditAction.HTTP_CALL_INTERRUPTED
    if plan.answer is not None and not ending.exposed:
        return AuditAction.OAUTH_TOKEN_REQUEST
    return ending.action
