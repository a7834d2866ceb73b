"""The token leg: its rows, what it raises, what is read and sent; then its cache."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest

from core.config import OAuthEntry
from core.errors import (
    AuditUnavailable,
    OAuthFailed,
    RequestCancelled,
    RequestTimeout,
    SecretUnavailable,
)
from core.http import Bounds, Fault, Request
from core.model import AuditAction
from core.vault import Credential
from tests.core.http.rig import ADDRESS, URL, Rig
from tests.fakes.transport import ScriptedTransfer
from tests.support.waiting import until

CLIENT = OAuthEntry(
    token_url="https://login.example.com/token",
    grant="client_credentials",
    client_id="the-client",
    client_secret="client-secret",
    scopes=("read", "write"),
    params=(("audience", "https://api.example.com"),),
)
REFRESH = replace(CLIENT, grant="refresh_token", refresh_token="refresh", scopes=(), params=())
TOKEN = "t0ken-canary"
GET = Request("GET", URL)
CALL, LEG = AuditAction.HTTP_CALL, AuditAction.OAUTH_TOKEN_REQUEST
UNSENT = AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND
EXPOSED = AuditAction.HTTP_CALL_CANCELLED


def granted(token: str = TOKEN, **more: Any) -> bytes:
    return json.dumps({"access_token": token, "token_type": "bearer", **more}).encode()


def rig_for(
    oauth: OAuthEntry = CLIENT,
    reply: Callable[[ScriptedTransfer], None] | None = None,
    bounds: Bounds | None = None,
) -> Rig:
    rig = Rig(
        credential=Credential("api", "oauth2", "Authorization", ("api.example.com",), oauth=oauth),
        reply=reply,
        bounds=bounds,
    )
    rig.resolver.answers["login.example.com"] = (ADDRESS,)
    rig.vault._values.update({"client-secret": "cs-canary", "refresh": "rt-canary"})
    return rig


def answering(*answers: tuple[int, bytes]) -> Callable[[ScriptedTransfer], None]:
    """Give the token endpoint's answers in order; the API says 200."""
    left = list(answers)

    def reply(transfer: ScriptedTransfer) -> None:
        if transfer.request.url.host == "api.example.com":
            transfer.answer(200, b"data")
        else:
            transfer.answer(*left.pop(0))

    return reply


def rows(rig: Rig) -> list[tuple[AuditAction, bool, int, str | None]]:
    return [(row.action, row.success, row.status, row.credential) for row in rig.audit.rows]


async def test_a_token_is_asked_for_and_sent_as_bearer() -> None:
    rig = rig_for(reply=answering((200, granted())))
    assert (await rig.client.send(GET)).body == b"data"
    leg, call = rig.transport.transfers
    assert leg.request.method == "POST"
    assert leg.request.url.text() == "https://login.example.com:443/token"
    assert parse_qsl(leg.request.body.decode()) == [
        ("grant_type", "client_credentials"),
        ("client_id", "the-client"),
        ("scope", "read write"),
        ("audience", "https://api.example.com"),
        ("client_secret", "cs-canary"),
    ]
    assert call.header("authorization") == f"Bearer {TOKEN}"
    assert rig.vault.reads == ["client-secret"]
    assert rows(rig) == [(LEG, True, 200, "client-secret"), (CALL, True, 200, "api")]
    assert [row.message for row in rig.audit.rows] == [None, None]
    assert rig.audit.rows[0].host == "login.example.com"
    assert rig.audit.rows[0].call_id != rig.audit.rows[1].call_id
    assert set(rig.context.started) == {row.call_id for row in rig.audit.rows}
    assert rig.audit.intents == {}


async def test_a_token_is_kept_until_its_buffer_and_then_asked_for_again() -> None:
    rig = rig_for(
        reply=answering((200, granted("one", expires_in=100)), (200, granted("two", expires_in=1)))
    )
    await rig.client.send(GET)
    rig.clock.advance(39)
    await rig.client.with_timeout(9).send(GET)
    assert len(rig.transport.transfers) == 3
    rig.clock.advance(2)
    await rig.client.send(GET)
    tokens = [transfer.header("authorization") for transfer in rig.transport.transfers]
    assert tokens == [None, "Bearer one", "Bearer one", None, "Bearer two"]


async def test_other_settings_are_another_token() -> None:
    rig = rig_for(reply=answering((200, granted("one")), (200, granted("two"))))
    await rig.client.send(GET)
    narrow = replace(CLIENT, scopes=("read",))
    credential = Credential("api", "oauth2", "Authorization", oauth=narrow)
    await rig.client.with_credential(credential).send(GET)
    assert rig.transport.transfers[-1].header("authorization") == "Bearer two"


async def test_calls_at_once_share_one_token_request() -> None:
    rig = rig_for(reply=answering((200, granted())))
    await asyncio.gather(*(rig.client.send(GET) for _ in range(5)))
    assert [row.action for row in rig.audit.rows].count(LEG) == 1
    assert len(rig.transport.transfers) == 6


async def test_a_token_that_a_server_refuses_is_not_used_again() -> None:
    answers = [(401, b"no"), (200, b"yes")]
    tokens = [granted("old"), granted("new")]

    def reply(transfer: ScriptedTransfer) -> None:
        at_api = transfer.request.url.host == "api.example.com"
        transfer.answer(*(answers.pop(0) if at_api else (200, tokens.pop(0))))

    rig = rig_for(reply=reply)
    assert [(await rig.client.send(GET)).status for _ in range(2)] == [401, 200]
    assert rig.transport.transfers[-1].header("authorization") == "Bearer new"


@pytest.mark.parametrize(
    ("status", "body", "code", "error", "message"),
    [
        (400, b'{"error":"invalid_client"}', "oauth_refused", "invalid_client", "invalid_client"),
        (401, b'{"error":"my secret text"}', "oauth_refused", None, "refused the grant"),
        (500, b"<html>cs-canary", "oauth_refused", None, "refused the grant"),
        (302, b"", "oauth_refused", None, "refused the grant"),
        (201, granted(), "oauth_refused", None, "refused the grant"),
        (200, b"cs-canary", "oauth_answer_malformed", None, "not valid JSON"),
        (200, b"[" * 9_000, "oauth_answer_malformed", None, "not valid JSON"),
        (200, b"[]", "oauth_answer_malformed", None, "not valid JSON"),
        (200, b"{}", "oauth_no_token", None, "no usable token"),
        (200, b'{"access_token": 5}', "oauth_no_token", None, "no usable token"),
        (200, granted("a\r\nX: y"), "oauth_no_token", None, "no usable token"),
        (200, granted(token_type="mac"), "oauth_no_token", None, "no usable token"),
    ],
)
async def test_an_answer_without_a_token_fails_both(
    status: int, body: bytes, code: str, error: str | None, message: str
) -> None:
    rig = rig_for(reply=answering((status, body)))
    with pytest.raises(OAuthFailed) as failed:
        await rig.client.send(GET)
    found = failed.value
    assert (found.code, found.status, found.error) == (code, status, error)
    assert message in found.what
    assert "canary" not in f"{found!r}{found.__cause__!r}{rig.audit.rows!r}"
    assert rows(rig) == [(LEG, False, status, "client-secret"), (CALL, False, 0, "api")]
    assert rig.audit.rows[0].message is not None
    assert message in rig.audit.rows[0].message
    assert rig.audit.rows[1].message == "No access token could be had; nothing was sent"
    assert len(rig.transport.transfers) == 1


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.TLS, Fault.CONNECT])
async def test_a_transport_failure_of_the_leg(fault: Fault) -> None:
    rig = rig_for(reply=lambda transfer: transfer.fail(fault, 7))
    with pytest.raises(OAuthFailed) as failed:
        await rig.client.send(GET)
    assert failed.value.code.startswith("oauth_")
    assert failed.value.__context__ is None or failed.value.__suppress_context__
    assert rows(rig) == [(LEG, False, 0, "client-secret"), (CALL, False, 0, "api")]


@pytest.mark.parametrize(
    ("token_url", "answer", "code"),
    [
        ("https://login.example.com/token", ("169.254.169.254",), "oauth_address_not_allowed"),
        ("https://login.example.com/token", (), "oauth_host_unresolved"),
        ("https://user@login.example.com/", (ADDRESS,), "oauth_url_invalid"),
        ("https://169.254.169.254/", (ADDRESS,), "oauth_address_not_allowed"),
    ],
)
async def test_the_gates_hold_for_the_token_endpoint(
    token_url: str, answer: tuple[str, ...], code: str
) -> None:
    rig = rig_for(replace(CLIENT, token_url=token_url))
    rig.resolver.answers["login.example.com"] = answer
    with pytest.raises(OAuthFailed) as failed:
        await rig.client.send(GET)
    assert failed.value.code == code
    assert rows(rig) == [(LEG, False, 0, "client-secret"), (CALL, False, 0, "api")]
    assert (rig.vault.reads, rig.transport.transfers) == ([], [])


async def test_a_missing_secret_leaves_one_row() -> None:
    rig = rig_for()
    del rig.vault._values["client-secret"]
    with pytest.raises(SecretUnavailable):
        await rig.client.send(GET)
    assert rows(rig) == [(CALL, False, 0, "api")]
    assert rig.audit.only.message == "The secret was not available; nothing was sent"


async def test_a_log_that_is_down_leaves_one_row() -> None:
    rig = rig_for()
    rig.audit.down = True
    with pytest.raises(AuditUnavailable):
        await rig.client.send(GET)
    assert rows(rig) == [(CALL, False, 0, "api")]
    assert rig.transport.transfers == []


async def test_stopped_before_the_legs_secrets_are_read() -> None:
    rig = rig_for()
    rig.resolver.hold("login.example.com")
    task = rig.begin(GET)
    await until(lambda: rig.resolver.waiting == 1)
    rig.signal.set()
    with pytest.raises(RequestCancelled) as cancelled:
        await task
    assert cancelled.value.before_send
    assert rows(rig) == [(UNSENT, False, 0, "api")]
    assert rig.vault.reads == []


async def test_stopped_after_the_legs_secrets_are_read() -> None:
    rig = rig_for()
    rig.audit.hold_intents()
    task = rig.begin(GET)
    await rig.audit.beginning.wait()
    rig.signal.set()
    rig.audit.release()
    with pytest.raises(RequestCancelled):
        await task
    assert sorted(rows(rig)) == sorted(
        [(LEG, False, 0, "client-secret"), (UNSENT, False, 0, "api")]
    )
    assert rig.transport.transfers == []
    assert rig.audit.intents == {}


@pytest.mark.parametrize("by", ["signal", "task"])
async def test_stopped_in_flight_the_client_secret_counts_as_exposed(by: str) -> None:
    rig = rig_for()
    task = rig.begin(GET)
    transfer = await rig.transport.next()
    transfer.connected()
    if by == "signal":
        rig.signal.set()
        assert transfer.aborted
        with pytest.raises(RequestCancelled) as cancelled:
            await task
        assert cancelled.value.before_send
    else:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert transfer.aborted
    assert sorted(rows(rig)) == sorted(
        [(EXPOSED, False, 0, "client-secret"), (UNSENT, False, 0, "api")]
    )
    assert [call.credential for call in rig.context.calls if call.exposed] == ["client-secret"]
    assert rig.clock.pending == 0


async def test_the_calls_own_bound_ends_the_leg_as_a_failure() -> None:
    rig = rig_for(bounds=Bounds(total=5, first_byte=60))
    task = rig.begin(GET)
    (await rig.transport.next()).connected()
    rig.clock.advance(5.01)
    with pytest.raises(RequestTimeout) as late:
        await task
    assert late.value.code == "timeout_total"
    assert sorted(rows(rig)) == sorted([(LEG, False, 0, "client-secret"), (CALL, False, 0, "api")])


async def test_the_legs_own_bound_is_an_oauth_failure() -> None:
    rig = rig_for(bounds=Bounds(total=60, first_byte=5))
    task = rig.begin(GET)
    (await rig.transport.next()).connected()
    rig.clock.advance(5.01)
    with pytest.raises(OAuthFailed) as late:
        await task
    assert late.value.code == "oauth_timeout_first_byte"
    assert rows(rig) == [(LEG, False, 0, "client-secret"), (CALL, False, 0, "api")]


async def test_a_waiter_for_somebody_elses_token_request_can_be_stopped_alone() -> None:
    rig = rig_for()
    first = asyncio.create_task(rig.client.send(GET))
    leg = await rig.transport.next()
    second = rig.begin(GET)
    await until(lambda: rig.resolver.asked.count("api.example.com") == 2)
    rig.signal.set()
    with pytest.raises(RequestCancelled):
        await second
    assert not leg.aborted
    leg.answer(200, granted())
    (await rig.transport.next()).answer(200, b"x")
    assert (await first).body == b"x"
    assert rows(rig) == [
        (UNSENT, False, 0, "api"),
        (LEG, True, 200, "client-secret"),
        (CALL, True, 200, "api"),
    ]


async def test_a_refresh_token_is_used_and_its_successor_stored() -> None:
    rig = rig_for(REFRESH, answering((200, granted(refresh_token="rt-next"))))
    await rig.client.send(GET)
    assert dict(parse_qsl(rig.transport.transfers[0].request.body.decode())) == {
        "grant_type": "refresh_token",
        "client_id": "the-client",
        "client_secret": "cs-canary",
        "refresh_token": "rt-canary",
    }
    assert rig.vault.rotated == [("refresh", "rt-next")]
    assert rows(rig) == [(LEG, True, 200, "client-secret"), (CALL, True, 200, "api")]


async def test_a_successor_that_cannot_be_stored_is_told_and_the_call_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = rig_for(REFRESH, answering((200, granted(refresh_token="rt-next"))))
    rig.vault.refuses_rotation = True
    assert (await rig.client.send(GET)).status == 200
    assert [row.action for row in rig.audit.rows] == [
        LEG,
        AuditAction.OAUTH_REFRESH_STORE_FAILED,
        CALL,
    ]
    assert "rt-next" not in caplog.text + repr(rig.audit.rows)


@pytest.mark.parametrize(
    ("status", "error"), [(400, "invalid_grant"), (401, "invalid_token"), (400, None)]
)
async def test_a_stale_refresh_token_falls_back_to_the_clients_own_grant(
    status: int, error: str | None
) -> None:
    refusal = json.dumps({"error": error} if error else {}).encode()
    rig = rig_for(REFRESH, answering((status, refusal), (200, granted())))
    fenced: list[int] = []

    async def may_go_on() -> bool:
        fenced.append(len(rig.transport.transfers))
        return True

    rig.context.may_go_on = may_go_on
    assert (await rig.client.send(GET)).status == 200
    assert fenced == [1, 2]
    assert rows(rig) == [
        (LEG, False, status, "client-secret"),
        (AuditAction.OAUTH_REFRESH_FAILED, False, status, "refresh"),
        (LEG, True, 200, "client-secret"),
        (AuditAction.OAUTH_FALLBACK_CLIENT_CREDENTIALS, True, 200, "refresh"),
        (CALL, True, 200, "api"),
    ]


@pytest.mark.parametrize(("status", "error"), [(400, "invalid_client"), (403, None), (500, None)])
async def test_no_other_refusal_falls_back(status: int, error: str | None) -> None:
    refusal = json.dumps({"error": error} if error else {}).encode()
    rig = rig_for(REFRESH, answering((status, refusal)))
    with pytest.raises(OAuthFailed):
        await rig.client.send(GET)
    assert rows(rig) == [(LEG, False, status, "client-secret"), (CALL, False, 0, "api")]


@pytest.mark.parametrize("at", [1, 2])
async def test_nothing_more_starts_once_the_fence_is_closed(at: int) -> None:
    refusal = b'{"error":"invalid_grant"}'
    rig = rig_for(REFRESH, answering((400, refusal), (200, granted())))
    asked: list[None] = []

    async def may_go_on() -> bool:
        asked.append(None)
        return len(asked) < at

    rig.context.may_go_on = may_go_on
    with pytest.raises(RequestCancelled) as cancelled:
        await rig.client.send(GET)
    assert cancelled.value.before_send
    assert len(rig.transport.transfers) == at
    assert rig.audit.rows[-1].action is UNSENT


async def test_a_call_with_a_kept_token_asks_no_fence() -> None:
    rig = rig_for(reply=answering((200, granted())))
    await rig.client.send(GET)

    async def may_go_on() -> bool:
        raise AssertionError

    rig.context.may_go_on = may_go_on
    assert (await rig.client.send(GET)).status == 200


async def test_a_successor_lands_although_the_call_is_stopped_meanwhile() -> None:
    rig = rig_for(REFRESH)
    go_on = asyncio.Event()
    store = rig.vault.rotate

    async def slow(name: str, value: str, *, actor: str) -> None:
        await go_on.wait()
        await store(name, value, actor=actor)

    rig.vault.rotate = slow  # type: ignore[method-assign]
    task = rig.begin(GET)
    (await rig.transport.next()).answer(200, granted(refresh_token="rt-next"))
    await until(lambda: [row.action for row in rig.audit.rows] == [LEG])
    rig.signal.set()
    go_on.set()
    with pytest.raises(RequestCancelled):
        await task
    await rig.client.drain()
    assert rig.vault.rotated == [("refresh", "rt-next")]
    assert rig.audit.rows[-1].action is UNSENT


async def test_no_canary_in_any_repr() -> None:
    rig = rig_for(reply=answering((200, granted())))
    await rig.client.send(GET)
    shown = repr((rig.client, rig.client._wiring, rig.client._plan, rig.audit.rows, rig.context))
    assert "canary" not in shown


async def test_a_token_is_masked_for_as_long_as_it_may_live() -> None:
    tokens = ("token-one", "token-two", "token-three")
    rig = rig_for(reply=answering(*((200, granted(token, expires_in=61)) for token in tokens)))
    known = rig.client._wiring.tokens._known
    shown = []
    for _ in tokens:
        await rig.client.send(GET)
        shown.append([known.mask(token) == "[redacted]" for token in tokens])
        rig.clock.advance(2)
    assert shown == [[True, False, False], [True, True, False], [False, True, True]]
