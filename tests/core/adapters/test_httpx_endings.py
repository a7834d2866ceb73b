"""How a call over the adapter ends, over the scripted transport."""

from __future__ import annotations

import asyncio
import gc
import traceback
import weakref
from typing import Any

import pytest

from core.adapters import httpx_transport
from core.errors import (
    AuditUnavailable,
    HttpError,
    RequestCancelled,
    RequestRefused,
    RequestTimeout,
    SecretUnavailable,
    TransportFailed,
)
from core.http import Fault
from core.model import AuditAction
from core.vault import Credential
from tests.core.adapters.rig import over
from tests.core.http.rig import SECRET, URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.fakes.transport import ScriptedTransfer
from tests.support.waiting import until

CALL = AuditAction.HTTP_CALL
EXPOSED = AuditAction.HTTP_CALL_CANCELLED
HARMLESS = AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL
UNSENT = AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND
STOPS = [(FakeCredential(), EXPOSED), (None, HARMLESS)]


def opening(status: int = 200) -> Any:
    return lambda transfer: transfer.head(status)


def outcome(rig: Rig) -> tuple[AuditAction, bool, int]:
    row = rig.audit.only
    return row.action, row.success, row.status


def everything_about(error: BaseException | None) -> str:
    text = ""
    while error is not None:
        text += "".join(traceback.format_exception(error)) + repr(vars(error))
        error = error.__cause__ or error.__context__
    return text


# ---- errors


@pytest.mark.parametrize(
    ("url", "allow", "name", "code"),
    [
        ("ftp://a.example.com/", (), "UnsupportedProtocol", "scheme_not_allowed"),
        ("http://b.example.com/", ("*.example.com",), "UnsupportedProtocol", "scheme_not_allowed"),
        ("https://b.example.com/", (), "ConnectError", "host_not_allowed"),
        (
            "https://b.example.com/",
            ("*.example.com",),
            "ConnectError",
            "credential_host_not_allowed",
        ),
        ("https://u:p@a.example.com/", (), "LocalProtocolError", "url_invalid"),
    ],
)
async def test_refusals(
    library: Any, url: str, allow: tuple[str, ...], name: str, code: str
) -> None:
    rig = Rig(credential=FakeCredential(hosts=("a.example.com",)), allow=allow)
    # The transport itself is asked: the client would refuse the scheme first.
    with pytest.raises(getattr(library, name)) as refused:
        await httpx_transport(rig.client).handle_async_request(library.Request("GET", url))
    assert isinstance(refused.value, RequestRefused)
    assert refused.value.code == code
    assert (outcome(rig), rig.vault.reads, rig.transport.transfers) == ((CALL, False, 0), [], [])


async def test_a_name_without_an_address(library: Any) -> None:
    rig = Rig()
    async with over(library, rig) as http:
        with pytest.raises(library.ConnectError) as refused:
            await http.get("https://nowhere.example.com/")
    assert (refused.value.code, refused.value.where) == ("host_unresolved", "nowhere.example.com")


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (Fault.CONNECT, "ConnectError"),
        (Fault.TLS, "ConnectError"),
        (Fault.CERTIFICATE, "ConnectError"),
        (Fault.PIN, "ConnectError"),
        (Fault.LOST, "ReadError"),
        (Fault.PROTOCOL, "RemoteProtocolError"),
        (Fault.TIMEOUT, "ReadTimeout"),
        (Fault.OTHER, "ReadError"),
    ],
)
@pytest.mark.parametrize("after_head", [False, True])
async def test_faults(library: Any, fault: Fault, name: str, after_head: bool) -> None:
    def reply(transfer: ScriptedTransfer) -> None:
        if after_head:
            transfer.head(200)
            transfer.data(b"part")
        transfer.fail(fault, 35)

    rig = Rig(credential=FakeCredential(), reply=reply)
    got: list[bytes] = []
    async with over(library, rig) as http:
        with pytest.raises(getattr(library, name)) as failed:
            async with http.stream("POST", URL, content=b"body-canary") as answer:
                async for chunk in answer.aiter_raw():
                    got.append(chunk)
    error: Any = failed.value
    assert got == ([b"part"] if after_head else [])
    assert (isinstance(error, TransportFailed), error.number) == (True, 35)
    assert error.request.url == URL  # as httpx's own errors have it
    assert (error.__cause__, error.__context__) == (None, None)
    assert SECRET not in everything_about(error)
    assert outcome(rig) == (CALL, False, 200 if after_head else 0)


@pytest.mark.parametrize("after_head", [False, True])
async def test_an_error_keeps_no_request_alive_once_it_is_dropped(
    library: Any, after_head: bool
) -> None:
    def reply(transfer: ScriptedTransfer) -> None:
        if after_head:
            transfer.head(200)
        transfer.fail(Fault.LOST)

    rig = Rig(credential=FakeCredential(), reply=reply)
    transport = httpx_transport(rig.client)
    request = library.Request("POST", URL, content=b"body")
    alive = [weakref.ref(request)]
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(library.ReadError):
            answer = await transport.handle_async_request(request)
            alive.append(weakref.ref(answer.stream))
            await answer.aread()
        answer = request = None
        assert [one() for one in alive] == [None] * (1 + after_head)
    finally:
        gc.enable()


async def test_both_families_catch_an_error(library: Any) -> None:
    for ours in (TransportFailed, HttpError, library.NetworkError, library.HTTPError):
        rig = Rig(reply=lambda transfer: transfer.fail(Fault.LOST))
        with pytest.raises(ours):
            async with over(library, rig) as http:
                await http.get(URL)


async def test_a_closed_transport_is_a_cancellation_that_keeps_its_code(library: Any) -> None:
    rig = Rig(credential=FakeCredential(), reply=lambda transfer: transfer.fail(Fault.CLOSED))
    async with over(library, rig) as http:
        with pytest.raises(library.TransportError) as stopped:
            await http.get(URL)
    assert isinstance(stopped.value, RequestCancelled)
    assert (stopped.value.code, stopped.value.before_send) == ("cancelled_in_flight", False)
    assert outcome(rig) == (EXPOSED, False, 0)


async def test_what_is_no_matter_of_transport_comes_as_it_is(library: Any) -> None:
    missing = Rig(credential=FakeCredential(name="other"))
    async with over(library, missing) as http:
        with pytest.raises(SecretUnavailable):
            await http.get(URL)
    assert outcome(missing) == (CALL, False, 0)
    down = Rig(credential=FakeCredential())
    down.audit.down = True
    async with over(library, down) as http:
        with pytest.raises(AuditUnavailable):
            await http.get(URL)
    assert down.transport.transfers == []


async def test_a_row_that_comes_late_keeps_no_answer_back(library: Any) -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200, b"whole"))
    rig.audit.broken = True
    async with over(library, rig) as http:
        assert (await http.get(URL)).content == b"whole"
    assert rig.audit.rows == []
    rig.audit.broken = False
    await rig.client.drain()
    assert outcome(rig) == (CALL, True, 200)


# ---- the body


async def test_the_body_arrives_piece_by_piece(library: Any) -> None:
    rig = Rig(reply=opening())
    async with over(library, rig) as http, http.stream("GET", URL) as answer:
        transfer = rig.transport.transfers[0]
        body = answer.aiter_raw()
        for piece in (b"one", b"two"):
            transfer.data(piece)
            assert await anext(body) == piece
        assert rig.audit.rows == []
        transfer.done()
        assert [chunk async for chunk in body] == []
        assert outcome(rig) == (CALL, True, 200)
    assert outcome(rig) == (CALL, True, 200)


async def test_an_answer_without_a_body(library: Any) -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(204))
    async with over(library, rig) as http:
        assert (await http.head(URL)).content == b""
    assert outcome(rig) == (CALL, True, 204)


@pytest.mark.parametrize(("credential", "action"), STOPS)
@pytest.mark.parametrize("reading", [False, True])
async def test_closing_the_response_stops_the_call(
    library: Any, credential: Credential | None, action: AuditAction, reading: bool
) -> None:
    rig = Rig(credential=credential, reply=opening())
    async with over(library, rig) as http:
        answer = await http.send(http.build_request("GET", URL), stream=True)
        transfer = rig.transport.transfers[0]
        if reading:
            transfer.data(b"some")
            await anext(answer.aiter_bytes())
        assert not transfer.aborted
        await answer.aclose()
        assert transfer.aborted
        assert outcome(rig) == (action, False, 200)
        await answer.aclose()
    assert outcome(rig) == (action, False, 200)
    assert (rig.audit.only.message or "").startswith("Closed by its reader")


async def test_closing_while_another_task_reads_ends_its_read(library: Any) -> None:
    rig = Rig(credential=FakeCredential(), reply=opening())
    async with over(library, rig) as http:
        answer = await http.send(http.build_request("GET", URL), stream=True)
        reading = asyncio.create_task(answer.aread())
        await asyncio.sleep(0)
        await answer.aclose()
        with pytest.raises(library.TransportError) as stopped:
            await reading
    assert stopped.value.code == "closed_early"
    assert outcome(rig) == (EXPOSED, False, 200)


@pytest.mark.parametrize(("credential", "action"), STOPS)
@pytest.mark.parametrize("part", ["response", "iterator"])
async def test_a_dropped_response_stops_the_call(
    library: Any, credential: Credential | None, action: AuditAction, part: str
) -> None:
    rig = Rig(credential=credential, reply=opening())
    async with over(library, rig) as http:
        held: Any = await http.send(http.build_request("GET", URL), stream=True)
        transfer = rig.transport.transfers[0]
        if part == "iterator":
            transfer.data(b"some")
            held = held.aiter_raw()
            await anext(held)
        del held
        gc.collect()
        await until(lambda: len(rig.audit.rows) == 1)
    assert transfer.aborted
    assert outcome(rig) == (action, False, 200)


async def test_closing_the_library_s_client_stops_what_is_open_and_no_more(library: Any) -> None:
    rig = Rig(credential=FakeCredential(), reply=opening())
    http = over(library, rig)
    answer = await http.send(http.build_request("GET", URL), stream=True)
    await http.aclose()
    assert rig.transport.transfers[0].aborted
    assert outcome(rig) == (EXPOSED, False, 200)
    with pytest.raises(library.TransportError):
        await answer.aread()
    async with over(library, rig) as again, again.stream("GET", URL) as other:
        assert other.status_code == 200


# ---- an error's answer that an SDK closes unread


async def test_the_rest_of_an_errors_answer_is_read_so_that_the_call_counts_as_whole(
    library: Any,
) -> None:
    rig = Rig(credential=FakeCredential(), reply=opening(500))
    async with over(library, rig) as http:
        answer = await http.send(http.build_request("GET", URL), stream=True)
        closing = asyncio.create_task(answer.aclose())
        await asyncio.sleep(0)
        rig.transport.transfers[0].data(b'{"error": 1}')
        rig.transport.transfers[0].done()
        await closing
    assert outcome(rig) == (CALL, True, 500)


async def test_a_long_errors_answer_is_stopped(library: Any) -> None:
    rig = Rig(credential=FakeCredential(), reply=opening(500))
    async with over(library, rig) as http:
        answer = await http.send(http.build_request("GET", URL), stream=True)
        transfer = rig.transport.transfers[0]
        transfer.data(bytes(64 * 1024 + 1))
        await answer.aclose()
    assert transfer.aborted
    assert outcome(rig) == (EXPOSED, False, 500)


@pytest.mark.parametrize("how", ["a fault", "cancelled", "silent"])
async def test_an_errors_answer_that_does_not_end_well(
    library: Any, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.adapters._httpx._REST_SECONDS", 0.01 if how == "silent" else 60)
    rig = Rig(credential=FakeCredential(), reply=opening(503))
    async with over(library, rig) as http:
        answer = await http.send(http.build_request("GET", URL), stream=True)
        closing = asyncio.create_task(answer.aclose())
        await asyncio.sleep(0)
        if how == "a fault":
            rig.transport.transfers[0].fail(Fault.LOST)
        if how == "cancelled":
            closing.cancel()
        await asyncio.wait({closing}, timeout=5)
        assert closing.cancelled() == (how == "cancelled")
    expected = CALL if how == "a fault" else EXPOSED
    assert outcome(rig) == (expected, False, 503)


# ---- task.cancel()


@pytest.mark.parametrize(("credential", "action"), STOPS)
@pytest.mark.parametrize("stage", ["head", "body"])
async def test_a_cancelled_task_stops_the_call(
    library: Any, credential: Credential | None, action: AuditAction, stage: str
) -> None:
    rig = Rig(credential=credential)
    async with over(library, rig) as http:
        task = asyncio.create_task(http.get(URL))
        transfer = await rig.transport.next()
        if stage == "body":
            transfer.head(200)
            transfer.data(b"some")
            for _ in range(5):
                await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert transfer.aborted
    assert outcome(rig) == (action, False, 200 if stage == "body" else 0)
    assert (rig.audit.only.message or "").startswith("Cancelled in flight")


async def test_a_task_cancelled_before_the_send(library: Any) -> None:
    rig = Rig(credential=FakeCredential())
    rig.resolver.hold("api.example.com")
    async with over(library, rig) as http:
        task = asyncio.create_task(http.get(URL))
        await until(lambda: rig.resolver.waiting == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (outcome(rig), rig.vault.reads) == ((UNSENT, False, 0), [])


async def test_a_bound_that_ends_a_read_is_the_client_s(library: Any) -> None:
    rig = Rig(credential=FakeCredential(), reply=opening())
    http = over(library, rig, timeout=library.Timeout(5.0, read=2.0))
    async with http, http.stream("GET", URL) as answer:
        reading = asyncio.create_task(answer.aread())
        await asyncio.sleep(0)
        rig.clock.advance(2.0)
        with pytest.raises(library.ReadTimeout) as late:
            await reading
    assert isinstance(late.value, RequestTimeout)
    assert late.value.code == "timeout_silence"
    assert outcome(rig) == (CALL, False, 200)
