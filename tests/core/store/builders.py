"""Runs, events and audit entries for the store's tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
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
from core.model.secrets import ChainKeyRecord, SecretRecord
from core.store import Claim, KeyRotation, Seal, Store

RUN = "run-1"
SPENT = Usage(1, 10, 5, 0.25)


_CHAIN_KEYS = {"k1": b"k" * 32, "k2": b"x" * 32, "k3": b"y" * 32}


def seal(database_id: str, sealed_by: str | None = None) -> Seal:
    """The seal of a known key, of ``k1`` if there is no other reason."""
    key_id = sealed_by if sealed_by in _CHAIN_KEYS else "k1"
    return Chain(_CHAIN_KEYS[key_id], key_id, database_id).seal


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


def rewrapped(record: SecretRecord, key_id: str) -> SecretRecord:
    """The same secret under another master key."""
    return replace(
        record,
        key_id=key_id,
        format=2,
        wrapped_key=f"w-{key_id}".encode(),
        nonce=f"n-{key_id:>10}".encode(),
        ciphertext=f"c-{key_id}".encode(),
    )


def retired(*key_ids: str, by: str) -> tuple[ChainKeyRecord, ...]:
    """Chain keys that the master key ``by`` wraps."""
    return tuple(
        ChainKeyRecord(key_id=key_id, wrapped_by=by, wrapped_key=f"{key_id}-{by}".encode())
        for key_id in key_ids
    )


def rotation(
    store: Store, secrets: Sequence[SecretRecord], *key_ids: str, before: str, after: str
) -> KeyRotation:
    """Everything of ``store`` under the key ``after``; ``key_ids`` are the retired ones."""
    return KeyRotation(
        before=before,
        secrets=tuple(rewrapped(record, after) for record in secrets),
        chain_keys=retired(*key_ids, by=after),
        entry=entry(AuditAction.MASTER_KEY_ROTATED),
        seal=seal(store.database_id, after),
    )


def assert_chained(rows: list[AuditRow], database_id: str) -> None:
    """Seal the rows again, oldest first, and compare."""
    previous = None
    for number, stored in enumerate(rows, 1):
        values = {item.name: getattr(stored, item.name) for item in fields(AuditEntry)}
        again = seal(database_id, stored.key_id)
        assert again(previous, number, AuditEntry(**values)) == stored
        previous = stored.mac
