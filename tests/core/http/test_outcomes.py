"""Every way a call can end, produced once: its row, what is raised, what was touched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from core.config import OAuthEntry
from core.errors import (
    AuditUnavailable,
    OAuthFailed,
    RequestCancelled,
    RequestRefused,
    RequestTimeout,
    SecretUnavailable,
    TransportFailed,
)
from core.http import Bounds, Ending, Fault, Request
from core.model import AuditAction
from core.vault import Credential
from tests.core.http.rig import ADDRESS, URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.fakes.transport import ScriptedTransfer
from tests.support.waiting import until

GET = Request("GET", URL)
BEARER = FakeCredential()
JSON = (("Content-Type", "application/json"),)
OAUTH = Credential(
    "api",
    "oauth2",
    "Authorization",
    oauth=OAuthEntry(
        token_url="https://login.example.com/token",
        grant="client_credentials",
        client_id="me",
        client_secret="key",
    ),
)
CALL = AuditAction.HTTP_CALL


@dataclass
class Case:
    """How an ending comes about, and what it leaves beside its line in the table.

    Attributes:
        raises: the class; None: an answer.
        secrets: how many were read.
        transfers: how many were started.
        status: the row's.
        rows: how many rows there are; the last one is looked at.
        action: the row's, None for the ending's own.
    """

    raises: type[BaseException] | None
    secrets: int
    transfers: int
    run: Callable[[Rig], Awaitable[Any]]
    credential: Credential | None = BEARER
    bounds: Bounds | None = None
    allow: tuple[str, ...] = ()
    status: int = 0
    rows: int = 1
    action: AuditAction | None = None


def sends(request: Request = GET) -> Callable[[Rig], Awaitable[Any]]:
    return lambda rig: rig.client.send(request)


def plays(*script: Callable[[ScriptedTransfer], object]) -> Callable[[Rig], Awaitable[Any]]:
    async def run(rig: Rig) -> Any:
        task = rig.begin(GET)
        transfer = await rig.transport.next()
        for act in script:
            act(transfer)
        return await task

    return run


def fails(fault: Fault) -> Callable[[Rig], Awaitable[Any]]:
    return plays(lambda transfer: transfer.fail(fault, 7))


def waits(seconds: float, *script: Callable[[ScriptedTransfer], object]) -> Any:
    async def run(rig: Rig) -> Any:
        task = rig.begin(GET)
        transfer = await rig.transport.next()
        for act in script:
            act(transfer)
        rig.clock.advance(seconds)
        assert transfer.aborted
        return await task

    return run


def connected(transfer: ScriptedTransfer) -> None:
    transfer.connected()


def head(transfer: ScriptedTransfer) -> None:
    transfer.head(200)


async def slow_lookup(rig: Rig) -> Any:
    rig.resolver.hold("api.example.com")
    task = rig.begin(GET)
    await until(lambda: rig.resolver.waiting == 1)
    rig.clock.advance(3.01)
    return await task


async def stopped_first(rig: Rig) -> Any:
    rig.signal.set()
    return await rig.begin(GET)


async def stopped_after_the_read(rig: Rig) -> Any:
    rig.vault.on_read = rig.signal.set
    return await rig.begin(GET)


async def stopped_in_flight(rig: Rig) -> Any:
    task = rig.begin(GET)
    transfer = await rig.transport.next()
    rig.signal.set()
    assert transfer.aborted
    return await task


async def left_early(rig: Rig) -> None:
    async def read() -> None:
        async with rig.client.stream(GET):
            pass

    task = asyncio.create_task(read())
    transfer = await rig.transport.next()
    transfer.head(200)
    await task
    assert transfer.aborted


async def without_log(rig: Rig) -> Any:
    rig.audit.down = True
    return await rig.client.send(GET)


async def without_transport(rig: Rig) -> Any:
    rig.transport.refuse_with = TransportFailed("no", code="transport_unusable")
    return await rig.client.send(GET)


async def with_a_stray_error(rig: Rig) -> Any:
    async def broken(host: str) -> tuple[str, ...]:
        raise ZeroDivisionError

    rig.resolver.resolve = broken  # type: ignore[method-assign]
    return await rig.client.send(GET)


def token_answers(status: int, body: bytes) -> Callable[[Rig], Awaitable[Any]]:
    async def run(rig: Rig) -> Any:
        rig.resolver.answers["login.example.com"] = (ADDRESS,)
        task = rig.begin(GET)
        (await rig.transport.next()).answer(status, body)
        try:
            return await task
        finally:
            # The token's own row comes first; the waiting call has another test.
            assert rig.audit.rows.pop().message == Ending.TOKEN_UNAVAILABLE.message

    return run


async def no_token(rig: Rig) -> Any:
    rig.resolver.answers["login.example.com"] = (ADDRESS,)
    task = rig.begin(GET)
    (await rig.transport.next()).fail(Fault.CONNECT)
    return await task


def refused(request: Request = GET, **more: Any) -> Case:
    return Case(RequestRefused, 0, 0, sends(request), **more)


def failed(fault: Fault) -> Case:
    return Case(TransportFailed, 1, 1, fails(fault))


def late(run: Callable[[Rig], Awaitable[Any]], *, secrets: int = 1, **more: Any) -> Case:
    bounds = Bounds(total=10, connect=3, first_byte=4, silence=5)
    return Case(RequestTimeout, secrets, secrets, run, bounds=bounds, **more)


def token(status: int, body: bytes) -> Case:
    return Case(
        OAuthFailed,
        1,
        1,
        token_answers(status, body),
        credential=OAUTH,
        status=status,
        action=AuditAction.OAUTH_TOKEN_REQUEST,
    )


TABLE: dict[Ending, Case] = {
    Ending.COMPLETED: Case(None, 1, 1, plays(lambda it: it.answer(503, b"x")), status=503),
    Ending.URL_INVALID: refused(Request("GET", "https://a@b.example/")),
    Ending.SCHEME_NOT_ALLOWED: refused(Request("GET", "http://api.example.com/")),
    Ending.HOST_NOT_ALLOWED: refused(allow=("other.example",)),
    Ending.CREDENTIAL_HOST: refused(
        allow=("api.example.com",), credential=FakeCredential(hosts=("other.example",))
    ),
    Ending.CREDENTIAL_TOOL: refused(credential=FakeCredential(tools=())),
    Ending.ADDRESS_NOT_ALLOWED: refused(Request("GET", "https://10.0.0.1/")),
    Ending.HOST_UNRESOLVED: refused(Request("GET", "https://gone.example.com/")),
    Ending.METHOD_INVALID: refused(Request("BREW", URL)),
    Ending.HEADER_INVALID: refused(Request("GET", URL, (("X", "a\nb"),))),
    Ending.HEADER_RESERVED: refused(Request("GET", URL, (("Host", "x"),))),
    Ending.CREDENTIAL_CONFLICT: refused(Request("GET", URL, (("Authorization", "x"),))),
    Ending.BODY_UNFIT: refused(
        Request("POST", URL, JSON, b"[]"), credential=FakeCredential(placement="body_field")
    ),
    Ending.SECRET_UNAVAILABLE: Case(
        SecretUnavailable, 1, 0, sends(), credential=FakeCredential(name="gone")
    ),
    Ending.TOKEN_UNAVAILABLE: Case(OAuthFailed, 1, 1, no_token, credential=OAUTH, rows=2),
    Ending.AUDIT_UNAVAILABLE: Case(AuditUnavailable, 1, 0, without_log),
    Ending.TRANSPORT_UNUSABLE: Case(TransportFailed, 1, 0, without_transport),
    Ending.UNEXPECTED_ERROR: Case(ZeroDivisionError, 0, 0, with_a_stray_error),
    Ending.TIMEOUT_TOTAL: Case(
        RequestTimeout, 1, 1, waits(2.01, connected), bounds=Bounds(total=2)
    ),
    Ending.TIMEOUT_LOOKUP: late(slow_lookup, secrets=0),
    Ending.TIMEOUT_CONNECT: late(waits(3.01)),
    Ending.TIMEOUT_FIRST_BYTE: late(waits(4.01, connected)),
    Ending.TIMEOUT_SILENCE: late(waits(5.01, connected, head), status=200),
    Ending.CONNECT_FAILED: failed(Fault.CONNECT),
    Ending.TLS_FAILED: failed(Fault.TLS),
    Ending.CERTIFICATE_INVALID: failed(Fault.CERTIFICATE),
    Ending.CONNECTION_LOST: failed(Fault.LOST),
    Ending.PROTOCOL_ERROR: failed(Fault.PROTOCOL),
    Ending.PIN_VIOLATED: failed(Fault.PIN),
    Ending.TRANSPORT_TIMEOUT: failed(Fault.TIMEOUT),
    Ending.TRANSPORT_FAILED: failed(Fault.OTHER),
    Ending.RESPONSE_TOO_LARGE: Case(
        TransportFailed,
        1,
        1,
        plays(head, lambda it: it.data(b"12345")),
        bounds=Bounds(body_bytes=4),
        status=200,
    ),
    Ending.TOKEN_REFUSED: token(403, b""),
    Ending.TOKEN_ANSWER_MALFORMED: token(200, b"x"),
    Ending.TOKEN_MISSING: token(200, b"{}"),
    Ending.CANCELLED_BEFORE_SEND: Case(RequestCancelled, 0, 0, stopped_first),
    Ending.CANCELLED_AFTER_READ: Case(RequestCancelled, 1, 0, stopped_after_the_read),
    Ending.CANCELLED_IN_FLIGHT: Case(RequestCancelled, 1, 1, stopped_in_flight),
    Ending.CANCELLED_NO_CREDENTIAL: Case(
        RequestCancelled, 0, 1, stopped_in_flight, credential=None
    ),
    Ending.CLOSED_IN_FLIGHT: Case(None, 1, 1, left_early, status=200),
    Ending.CLOSED_NO_CREDENTIAL: Case(None, 0, 1, left_early, credential=None, status=200),
}


def test_the_table_is_whole_and_its_codes_and_literals_are_fixed() -> None:
    assert set(TABLE) == set(Ending)
    shown = {ending.message for ending in Ending if ending.message is not None}
    # Two endings that tell a secret was read or not share a code; no two share a literal.
    assert len(shown) == len(Ending) - 1
    assert all(text.isascii() and "{" not in text for text in shown)
    assert {ending.code for ending in Ending} == CODES


CODES = {
    "address_not_allowed", "audit_unavailable", "body_unfit", "cancelled_before_send",
    "cancelled_in_flight", "certificate_invalid", "closed_early", "completed", "connect_failed",
    "connection_lost", "credential_conflict", "credential_host_not_allowed",
    "credential_tool_not_allowed", "header_invalid", "header_reserved", "host_not_allowed",
    "host_unresolved", "method_invalid", "oauth_answer_malformed", "oauth_no_token",
    "oauth_refused", "pin_violated", "protocol_error", "response_too_large",
    "scheme_not_allowed", "secret_unavailable", "timeout_connect", "timeout_first_byte",
    "timeout_lookup", "timeout_silence", "timeout_total", "tls_failed", "token_unavailable",
    "transport_failed", "transport_timeout", "transport_unusable", "unexpected_error",
    "url_invalid",
}  # fmt: skip


@pytest.mark.parametrize("ending", TABLE, ids=lambda ending: ending.name)
async def test_an_ending_leaves_its_row_and_raises_its_own(ending: Ending) -> None:
    case = TABLE[ending]
    rig = Rig(credential=case.credential, bounds=case.bounds, allow=case.allow)
    rig.context.tool = "caller"
    if case.raises is None:
        await case.run(rig)
    else:
        with pytest.raises(case.raises) as raised:
            await case.run(rig)
        found = raised.value
        assert type(found) is case.raises
        code = getattr(found, "code", None)
        if isinstance(found, (RequestRefused, RequestTimeout, RequestCancelled)):
            assert (code, str(found)) == (ending.code, ending.message)
        if isinstance(found, RequestCancelled):
            assert found.before_send == (case.transfers == 0)
    assert len(rig.vault.reads) == case.secrets
    assert len(rig.transport.transfers) == case.transfers
    assert len(rig.audit.rows) == case.rows
    row = rig.audit.rows[-1]
    assert row.action is (case.action or ending.action)
    assert (row.success, row.status) == (ending.success, case.status)
    assert row.message == ending.message
    assert row.success == (ending is Ending.COMPLETED)
    assert rig.audit.intents == {}
    assert rig.clock.pending == 0


async def test_the_order_is_the_designs() -> None:
    seen: list[str] = []
    rig = Rig(credential=FakeCredential())

    class Signal:
        def is_set(self) -> bool:
            seen.append("signal")
            return False

        def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
            seen.append("listen")
            return lambda: seen.append("unlisten")

    def noted(owner: object, name: str, word: str) -> None:
        inner = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            seen.append(word)
            return inner(*args, **kwargs)

        setattr(owner, name, call)

    noted(rig.resolver, "resolve", "resolve")
    noted(rig.vault, "read", "secret")
    noted(rig.audit, "begin", "intent")
    noted(rig.audit, "append", "row")
    noted(rig.transport, "start", "hand over")
    task = asyncio.create_task(rig.client.send_cancellable(GET, Signal()))
    (await rig.transport.next()).answer(200)
    await task
    assert seen == [
        "listen", "signal", "resolve", "signal", "secret", "intent", "signal", "hand over",
        "unlisten", "row",
    ]  # fmt: skip


POINTS = ["resolve", "secret", "intent", "hand over", "head", "row"]


@pytest.mark.parametrize("point", POINTS)
async def test_a_signal_at_each_point_of_the_order_ends_in_its_action(point: str) -> None:
    rig = Rig(credential=FakeCredential())

    def at(owner: object, name: str) -> None:
        inner = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            rig.signal.set()
            return inner(*args, **kwargs)

        setattr(owner, name, call)

    match point:
        case "resolve":
            at(rig.resolver, "resolve")
        case "secret":
            at(rig.vault, "read")
        case "intent":
            at(rig.audit, "begin")
        case "hand over":
            at(rig.transport, "start")
        case "row":
            at(rig.audit, "append")
    task = rig.begin(GET)
    if point in ("hand over", "head", "row"):
        transfer = await rig.transport.next()
        if point == "head":
            transfer.head(200)
            rig.signal.set()
        elif point == "row":
            transfer.answer(200, b"whole")
    if point == "row":
        # It had ended before: an answer that is whole stays one.
        assert (await task).body == b"whole"
        assert rig.audit.only.action is CALL
        return
    with pytest.raises(RequestCancelled) as cancelled:
        await task
    before = POINTS.index(point) < POINTS.index("hand over")
    assert cancelled.value.before_send == before
    expected = (
        AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND if before else AuditAction.HTTP_CALL_CANCELLED
    )
    assert rig.audit.only.action is expected
    assert len(rig.transport.transfers) == (0 if before else 1)
    assert all(transfer.aborted for transfer in rig.transport.transfers)
