"""Runs, events and audit entries for the store's tests."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from core.audit import Chain
from core.model import (
    Assembled,
    AuditAction,
    AuditEntry,
    AuditRow,
    Cancelled,
    CancelLevel,
    Completed,
    Failed,
    InFlight,
    Receipt,
    Request,
    Response,
    RunRow,
    RunStatus,
    Started,
    StepError,
    StepOutcome,
    TerminationReason,
    Tool,
    ToolStarted,
    Usage,
)
from core.model.secrets import SecretRecord
from core.store import Claim, Seal, Store

RUN = "run-1"
SPENT = Usage(1, 10, 5, 0.25)


def seal(database_id: str, _sealed_by: str | None = None) -> Seal:
    return Chain(b"k" * 32, "k1", database_id).seal


def row(run_id: str = RUN, *, created_us: int = 1, prompt: str = "hello") -> RunRow:
    return RunRow(
        run_id=run_id,
        status=RunStatus.RUNNING,
        termination_reason=None,
        model="demo",
        prompt=prompt,
        created_us=created_us,
        updated_us=created_us,
        closed_us=None,
        owner=None,
        claim=1,
        next_seq=0,
        round=0,
        tool_calls=0,
        usage=Usage(),
    )


def started(run_id: str = RUN) -> Started:
    return Started(run_id=run_id, at_us=1, model="demo", request={"prompt": "hello"})


async def begin(store: Store, run_id: str = RUN, **values: Any) -> Claim:
    return await store.create_run(row(run_id, **values), started(run_id))


def assembled(step: str = "a", run_id: str = RUN) -> Assembled:
    return Assembled(run_id=run_id, at_us=2, round=1, step=step, messages=(), tools=("x",))


def request(step: str, run_id: str = RUN, *, at_us: int = 3) -> Request:
    return Request(
        run_id=run_id,
        at_us=at_us,
        round=1,
        step=step,
        name="demo",
        model="wire",
        attempt=1,
        messages=2,
        digest="d" * 64,
    )


def response(
    step: str, run_id: str = RUN, *, usage: Usage = SPENT, text: str = "hi", at_us: int = 4
) -> Response:
    return Response(
        run_id=run_id,
        at_us=at_us,
        round=1,
        duration_ms=1.5,
        step=step,
        name="demo",
        text=text,
        usage=usage,
        outcome=StepOutcome.OK,
    )


def tool_started(step: str, run_id: str = RUN) -> ToolStarted:
    return ToolStarted(
        run_id=run_id,
        at_us=5,
        round=1,
        step=step,
        name="weather",
        tool_call_id="c",
        arguments="{}",
        effect="pure",
    )


def tool(step: str, run_id: str = RUN, *, executed: bool = True, result: str = "sun") -> Tool:
    return Tool(
        run_id=run_id,
        at_us=6,
        round=1,
        step=step,
        name="weather",
        tool_call_id="c",
        result=result,
        executed=executed,
        outcome=StepOutcome.OK,
    )


def completed(run_id: str = RUN) -> Completed:
    return Completed(
        run_id=run_id,
        at_us=9,
        text="done",
        termination_reason=TerminationReason.COMPLETED,
        usage=SPENT,
        rounds=1,
        tool_calls=0,
    )


def failed(run_id: str = RUN) -> Failed:
    return Failed(
        run_id=run_id,
        at_us=9,
        termination_reason=TerminationReason.PROVIDER_FAILED,
        error=StepError(code="auth", message="no"),
        usage=SPENT,
        rounds=1,
        tool_calls=0,
    )


def cancelled(level: CancelLevel, run_id: str = RUN) -> Cancelled:
    receipt = Receipt(
        requested_at_us=7,
        requested_by="me",
        reason="enough",
        level=level,
        stopped_at_us=9,
        boundary="s1",
        usage=SPENT,
        usage_in_flight=SPENT,
        usage_after_request=Usage(),
    )
    return Cancelled(run_id=run_id, at_us=9, receipt=receipt, usage=SPENT, rounds=1, tool_calls=0)


def model_step(step: str) -> InFlight:
    return InFlight(step, "request", "demo")


def tool_step(step: str) -> InFlight:
    return InFlight(step, "tool_started", "weather")


def entry(
    action: AuditAction = AuditAction.HTTP_CALL,
    *,
    at_us: int = 100,
    call_id: str | None = None,
    run_id: str | None = None,
    message: str | None = None,
) -> AuditEntry:
    return AuditEntry(
        at_us=at_us,
        action=action,
        success=True,
        status=200,
        method="GET",
        host="api.test",
        path="/x",
        credential="demo",
        run_id=run_id,
        call_id=call_id,
        actor="me",
        message=message,
    )


def secret(name: str, *, version: int = 1) -> SecretRecord:
    return SecretRecord(
        name=name,
        version=version,
        placement="header",
        field="X-Key",
        hosts=("api.test", "*.test"),
        key_id="m1",
        wrapped_key=b"\x00w",
        nonce=b"n" * 12,
        ciphertext=b"\xffc",
        created_us=1,
        updated_us=version,
    )


def assert_chained(rows: list[AuditRow], database_id: str) -> None:
    """Seal the rows again, oldest first, and compare."""
    again = seal(database_id)
    previous = None
    for number, stored in enumerate(rows, 1):
        values = {item.name: getattr(stored, item.name) for item in fields(AuditEntry)}
        assert again(previous, number, AuditEntry(**values)) == stored
        previous = stored.mac
