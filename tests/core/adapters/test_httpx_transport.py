"""What goes in and what comes out, over the scripted transport."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

import core.adapters
from core.adapters import httpx_transport
from core.adapters._httpx_request import MAX_REQUEST_BYTES
from core.config import Placement
from core.errors import UsageError
from core.http import Bounds
from core.model import AuditAction
from tests.core.adapters.rig import over, sent
from tests.core.http.rig import SECRET, URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.fakes.transport import ScriptedTransfer

CALL = AuditAction.HTTP_CALL
OUTSIDE: tuple[Placement, ...] = ("query", "body_field")


def echo(transfer: ScriptedTransfer) -> None:
    transfer.answer(201, b"body", Content_Type="text/plain", X_One="1")


async def test_a_whole_exchange(library: Any) -> None:
    rig = Rig(reply=echo)
    async with over(library, rig) as http:
        answer = await http.post(URL, content=b"question", headers={"X-Mine": "yes"})
    assert isinstance(answer, library.Response)
    assert (answer.status_code, answer.content, answer.text) == (201, b"body", "body")
    assert (answer.headers["content-type"], answer.headers["x-one"]) == ("text/plain", "1")
    wire = rig.transport.transfers[0].request
    assert (wire.method, wire.url.text(), wire.body) == (
        "POST",
        "https://api.example.com:443/v1/things?q=query-canary",
        b"question",
    )
    assert sent(rig)["x-mine"] == ["yes"]
    assert (rig.audit.only.action, rig.audit.only.success, rig.audit.only.status) == (
        CALL,
        True,
        201,
    )


async def test_it_is_a_transport_of_the_library(library: Any) -> None:
    made = httpx_transport(Rig().client)
    assert isinstance(made, library.AsyncBaseTransport)
    assert SECRET not in repr(made)


async def test_repeated_and_non_ascii_answer_headers(library: Any) -> None:
    pairs = (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Name", "caf\xe9"))

    def reply(transfer: ScriptedTransfer) -> None:
        transfer.head(200, pairs)
        transfer.done()

    async with over(library, Rig(reply=reply)) as http:
        answer = await http.get(URL)
        assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]
        assert answer.headers["x-name"] == "caf\xe9"


async def test_headers_that_the_client_writes_itself_are_dropped(library: Any) -> None:
    rig = Rig(reply=echo)
    async with over(library, rig) as http:
        request = http.build_request("POST", URL, content=b"12345")
        assert {"host", "content-length", "connection", "accept-encoding"} <= set(request.headers)
        request.headers["Transfer-Encoding"] = "chunked"
        await http.send(request)
    headers = sent(rig)
    assert {"host", "content-length", "connection", "transfer-encoding"}.isdisjoint(headers)
    assert headers["accept-encoding"] == ["identity"]


@pytest.mark.parametrize(
    "headers", [{"Host": "other.example.com"}, {"Upgrade": "websocket"}, {"TE": "trailers"}]
)
async def test_headers_that_would_change_the_call_are_refused_by_the_client(
    library: Any, headers: dict[str, str]
) -> None:
    rig = Rig(reply=echo)
    async with over(library, rig) as http:
        with pytest.raises(library.LocalProtocolError) as refused:
            await http.get(URL, headers=headers)
    assert refused.value.code == "header_reserved"
    assert rig.transport.transfers == []
    assert (rig.audit.only.action, rig.audit.only.success) == (CALL, False)


@pytest.mark.parametrize(
    ("placement", "header", "value"),
    [
        ("bearer", "authorization", f"Bearer {SECRET}"),
        ("header", "x-token", SECRET),
        ("api_key", "x-token", SECRET),
    ],
)
async def test_the_credential_takes_the_place_of_the_callers_placeholder(
    library: Any, placement: Placement, header: str, value: str
) -> None:
    credential = FakeCredential(placement=placement, field=header)
    rig = Rig(credential=credential, reply=echo)
    names = ["Authorization", "x-api-key", "API-Key", "x-goog-api-key", header]
    given = {**dict.fromkeys(names, "placeholder"), "X-Other": "stays"}
    async with over(library, rig) as http:
        answer = await http.get(URL, headers=given)
    headers = sent(rig)
    assert (headers[header], headers["x-other"]) == ([value], ["stays"])
    assert "placeholder" not in repr(headers)
    assert SECRET not in repr((answer.request.headers.raw, answer.headers.raw))


async def test_a_credential_that_travels_elsewhere(library: Any) -> None:
    query, body = (
        Rig(credential=FakeCredential(placement=placement, field="secret_field"), reply=echo)
        for placement in OUTSIDE
    )
    for rig in (query, body):
        async with over(library, rig) as http:
            answer = await http.post(URL, json={"a": 1}, headers={"Authorization": "placeholder"})
        assert "authorization" not in sent(rig)
        request = answer.request
        assert SECRET not in repr((request.url, request.headers.raw, request.content))
    assert query.transport.transfers[0].request.url.query.endswith(f"&secret_field={SECRET}")
    wanted = {"a": 1, "secret_field": SECRET}
    assert json.loads(body.transport.transfers[0].request.body) == wanted


async def test_without_a_credential_the_callers_own_headers_go_out(library: Any) -> None:
    rig = Rig(reply=echo)
    async with over(library, rig, auth=("me", "pw")) as http:
        await http.get(URL, headers={"X-API-Key": "mine"})
    assert sent(rig)["authorization"] == ["Basic bWU6cHc="]
    assert sent(rig)["x-api-key"] == ["mine"]


async def test_a_body_that_comes_in_pieces_is_read_before_the_gates(library: Any) -> None:
    rig = Rig(credential=FakeCredential(), reply=echo)

    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"one", b"two", b"three"):
            await asyncio.sleep(0)
            assert (rig.vault.reads, rig.resolver.asked) == ([], [])
            yield piece

    async with over(library, rig) as http:
        await http.post(URL, content=pieces())
    assert rig.transport.transfers[0].request.body == b"onetwothree"


async def test_a_body_of_any_size_is_not_gathered(library: Any) -> None:
    rig = Rig(reply=echo)
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield bytes(16 * 1024 * 1024)

    async with over(library, rig) as http:
        with pytest.raises(library.LocalProtocolError) as refused:
            await http.post(URL, content=endless())
    assert refused.value.code == "request_too_large"
    assert taken == MAX_REQUEST_BYTES // (16 * 1024 * 1024) + 1
    assert (rig.transport.transfers, rig.audit.rows) == ([], [])


async def test_what_a_body_raises_comes_out_as_the_same_object(library: Any) -> None:
    rig = Rig()
    fault = KeyError("mine")

    async def broken() -> AsyncIterator[bytes]:
        yield b"one"
        raise fault

    async with over(library, rig) as http:
        with pytest.raises(KeyError) as raised:
            await http.post(URL, content=broken())
    assert raised.value is fault
    assert rig.audit.rows == []


async def test_a_form_with_a_file(library: Any) -> None:
    rig = Rig(reply=echo)
    async with over(library, rig) as http:
        await http.post(URL, files={"file": ("a.txt", b"file-body")}, data={"field": "x"})
    assert b"file-body" in rig.transport.transfers[0].request.body
    assert sent(rig)["content-type"][0].startswith("multipart/form-data; boundary=")


@pytest.mark.parametrize("follow", [False, True])
async def test_a_redirect_is_handed_back_and_never_followed(library: Any, follow: bool) -> None:
    def reply(transfer: ScriptedTransfer) -> None:
        transfer.answer(307, b"", Location="https://api.example.com/elsewhere")

    rig = Rig(credential=FakeCredential(), reply=reply)
    async with over(library, rig, follow_redirects=follow) as http:
        answer = await http.get(URL)
    assert (answer.status_code, answer.headers["location"]) == (
        307,
        "https://api.example.com/elsewhere",
    )
    assert (len(rig.transport.transfers), len(rig.audit.rows)) == (1, 1)
    with pytest.raises(library.HTTPStatusError):
        answer.raise_for_status()


@pytest.mark.parametrize("name", ["sni_hostname", "trace", "network_stream", "target", "anything"])
async def test_extensions_are_refused(library: Any, name: str) -> None:
    rig = Rig(credential=FakeCredential(), reply=echo)
    async with over(library, rig) as http:
        with pytest.raises(library.LocalProtocolError) as refused:
            await http.get(URL, extensions={name: "x"})
    assert (refused.value.code, refused.value.where) == ("extension_refused", name)
    assert (rig.vault.reads, rig.transport.transfers, rig.audit.rows) == ([], [], [])


@pytest.mark.parametrize(
    "timeout",
    [5, {"connect": "1"}, {"read": -1}, {"read": float("nan")}, {"total": 5}, {"read": []}],
)
async def test_a_timeout_that_is_none_is_refused(library: Any, timeout: Any) -> None:
    rig = Rig(reply=echo)
    async with over(library, rig) as http:
        with pytest.raises(library.LocalProtocolError) as refused:
            await http.get(URL, extensions={"timeout": timeout})
    assert (refused.value.code, refused.value.where) == ("extension_refused", "timeout")
    assert rig.transport.transfers == []


OURS = Bounds(total=100.0, connect=10.0, first_byte=20.0, silence=30.0)
HUGE = {"connect": 1e9, "read": 1e9, "write": 1e9, "pool": 1e9}
ENDLESS = dict.fromkeys(HUGE, float("inf"))
NONE: dict[str, float | None] = dict.fromkeys(HUGE)


async def _silent_at(
    library: Any, timeout: dict[str, Any], stage: str, bounds: Bounds
) -> tuple[float, Any]:
    """Return after which time a call that hangs at a stage ends, and how."""
    rig = Rig(bounds=bounds)
    begun = rig.clock.monotonic()
    async with over(library, rig) as http:
        task = asyncio.create_task(http.get(URL, extensions={"timeout": timeout}))
        transfer = await rig.transport.next()
        if stage != "connect":
            transfer.connected()
        if stage == "silence":
            transfer.head(200)
        while not transfer.aborted:
            rig.clock.advance(0.5)
        waited = rig.clock.monotonic() - begun
        with pytest.raises(library.TimeoutException) as failed:
            await task
    assert (rig.audit.only.action, rig.audit.only.success) == (CALL, False)
    return waited, failed.value


@pytest.mark.parametrize("timeout", [HUGE, ENDLESS, NONE, {}])
@pytest.mark.parametrize(("stage", "ours"), [("connect", 10), ("first byte", 20), ("silence", 30)])
async def test_a_timeout_never_raises_a_bound(
    library: Any, timeout: dict[str, Any], stage: str, ours: float
) -> None:
    waited, _ = await _silent_at(library, timeout, stage, OURS)
    assert waited == ours


@pytest.mark.parametrize(
    ("stage", "theirs", "name"),
    [
        ("connect", 2, "ConnectTimeout"),
        ("first byte", 7, "ReadTimeout"),
        ("silence", 3, "ReadTimeout"),
    ],
)
@pytest.mark.parametrize("bounds", [OURS, Bounds(connect=None, first_byte=None, silence=None)])
async def test_a_lower_timeout_lowers_the_bound(
    library: Any, stage: str, theirs: float, name: str, bounds: Bounds
) -> None:
    lower = {"connect": 2, "read": 3.0, "write": 4, "pool": None}
    waited, error = await _silent_at(library, lower, stage, bounds)
    assert waited == theirs
    assert isinstance(error, getattr(library, name))


async def test_no_timeout_lifts_the_total_bound(library: Any) -> None:
    waited, error = await _silent_at(library, HUGE, "silence", Bounds(total=3.0))
    assert (waited, error.code) == (3, "timeout_total")


async def test_a_foreign_client_is_no_client(library: Any) -> None:
    class Foreign:
        async def send(self, request: object) -> object:
            return request

    with pytest.raises(UsageError):
        httpx_transport(Foreign())  # type: ignore[arg-type]


async def test_a_request_of_neither_library_is_none() -> None:
    with pytest.raises(TypeError):
        await httpx_transport(Rig().client).handle_async_request(object())


def _alone(code: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    return run.stdout.strip()


def test_without_either_library_the_error_says_what_to_do() -> None:
    out = _alone(
        "import sys; sys.modules['httpx'] = sys.modules['httpx2'] = None\n"
        "from core.adapters import httpx_transport\n"
        "from core.errors import UsageError\n"
        "from core.http import VaultHttpClient\n"
        "client = object.__new__(VaultHttpClient)\n"
        "try: httpx_transport(client)\n"
        "except UsageError as error: print(error.where, '|', error.hint)"
    )
    assert out == "httpx | Install httpx, or httpx2, beside this package."


@pytest.mark.parametrize("name", ["httpx", "httpx2"])
def test_one_library_is_enough_and_the_other_is_left_alone(name: str) -> None:
    out = _alone(
        f"import {name}, sys\n"
        "from core.adapters import httpx_transport\n"
        "from core.http import VaultHttpClient\n"
        "made = httpx_transport(object.__new__(VaultHttpClient))\n"
        "print([base.__module__ for base in type(made).__mro__ if 'httpx' in base.__module__\n"
        "       and not base.__module__.startswith('core')])\n"
        "print(sorted({'httpx', 'httpx2'} & set(sys.modules)))"
    )
    assert out.splitlines() == [str([name]), str([name])]


def test_the_name_is_public_and_loads_nothing_before_it_is_used() -> None:
    assert "httpx_transport" in core.adapters.__all__
    assert "httpx_transport" in dir(core.adapters)
    out = _alone(
        "import sys, core.adapters\n"
        "print(sorted({'httpx', 'httpx2', 'pycurl', 'core.http'} & set(sys.modules)))"
    )
    assert out == "[]"
