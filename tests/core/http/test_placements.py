"""Where each placement puts its secret, and what it refuses before reading one."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.config import Placement
from core.errors import RequestRefused, SecretUnavailable
from core.http import Request
from core.http._placements import check_room, place
from core.http._url import split_url
from core.vault import Credential, Secret
from tests.core.http.rig import SECRET, URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.fakes.transport import ScriptedTransfer

FORM = (("Content-Type", "application/x-www-form-urlencoded"),)
JSON = (("content-type", "Application/JSON; charset=utf-8"),)


async def sent(credential: Credential, request: Request, **values: str) -> ScriptedTransfer:
    rig = Rig(credential=credential, reply=lambda transfer: transfer.answer(200))
    rig.vault._values.update(values)
    await rig.client.send(request)
    row = rig.audit.only
    assert (row.credential, row.path) == (credential.name, split_url(request.url).path)
    assert SECRET not in repr(row)
    (transfer,) = rig.transport.transfers
    return transfer


@pytest.mark.parametrize(
    ("placement", "field", "value"),
    [
        ("bearer", "Authorization", f"Bearer {SECRET}"),
        ("header", "X-Token", SECRET),
        ("api_key", "X-API-Key", SECRET),
    ],
)
async def test_in_a_header(placement: Placement, field: str, value: str) -> None:
    credential = FakeCredential(placement=placement, field=field)
    transfer = await sent(credential, Request("GET", URL))
    assert transfer.header(field) == value
    assert SECRET not in transfer.request.url.text()


@pytest.mark.parametrize(
    ("username", "stored", "pair"),
    [(None, "me:p:w", "me:p:w"), ("me", "p:w", "me:p:w"), ("", "pw", ":pw")],
)
async def test_basic(username: str | None, stored: str, pair: str) -> None:
    credential = FakeCredential(name="basic", placement="basic", username=username)
    transfer = await sent(credential, Request("GET", URL), basic=stored)
    scheme, _, encoded = (transfer.header("authorization") or "").partition(" ")
    assert (scheme, b64decode(encoded).decode()) == ("Basic", pair)


async def test_basic_without_a_user_is_not_sent() -> None:
    rig = Rig(credential=FakeCredential(placement="basic"))
    with pytest.raises(SecretUnavailable, match="user:password"):
        await rig.client.send(Request("GET", URL))
    assert rig.transport.transfers == []


@pytest.mark.parametrize("url", [URL, "https://api.example.com/v1/things"])
async def test_in_the_query(url: str) -> None:
    credential = FakeCredential(name="odd", placement="query", field="api key")
    transfer = await sent(credential, Request("GET", url), odd="a&b=c d/é")
    pairs = parse_qsl(transfer.request.url.query)
    assert pairs[-1] == ("api key", "a&b=c d/é")
    assert pairs[:-1] == parse_qsl(split_url(url).query)


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        (JSON, b"", {"token": SECRET}),
        (JSON, b"  {} ", {"token": SECRET}),
        (JSON, b'\n{"a": 1e2, "b": [1, {"token": 2}]}', {"a": 100.0, "b": [1, {"token": 2}]}),
        ((("Content-Type", "application/vnd.x+json"),), b'{"a":1}', {"a": 1}),
    ],
)
async def test_in_a_json_body(
    headers: tuple[tuple[str, str], ...], body: bytes, expected: dict[str, Any]
) -> None:
    credential = FakeCredential(placement="body_field", field="token")
    transfer = await sent(credential, Request("POST", URL, headers, body))
    assert json.loads(transfer.request.body) == expected | {"token": SECRET}
    rest = body.strip().removeprefix(b"{").strip()
    assert transfer.request.body.strip().endswith(rest)


@pytest.mark.parametrize("headers", [FORM, ()])
async def test_in_a_form(headers: tuple[tuple[str, str], ...]) -> None:
    credential = FakeCredential(
        placement="body_field", field="token", body_fields=(("second", "other"),)
    )
    request = Request("POST", URL, headers, b"a=1&b=%26")
    transfer = await sent(credential, request, other="x&y é")
    pairs = parse_qsl(transfer.request.body.decode())
    assert pairs == [("a", "1"), ("b", "&"), ("token", SECRET), ("second", "x&y é")]
    assert transfer.header("content-type") == FORM[0][1]


async def test_more_secrets_travel_beside_a_bearer_in_their_order() -> None:
    fields = tuple((f"f{number}", f"s{number}") for number in range(8))
    rig = Rig(
        credential=FakeCredential(body_fields=fields),
        reply=lambda transfer: transfer.answer(200),
    )
    rig.vault._values.update({secret: f"v-{secret}" for _, secret in fields})
    await rig.client.send(Request("POST", URL, JSON, b'{"x":0}'))
    assert rig.vault.reads == ["key", *(secret for _, secret in fields)]
    (transfer,) = rig.transport.transfers
    assert transfer.header("authorization") == f"Bearer {SECRET}"
    assert list(json.loads(transfer.request.body)) == [*(field for field, _ in fields), "x"]


@pytest.mark.parametrize(
    ("credential", "request_", "code"),
    [
        (FakeCredential(), Request("GET", URL, (("authorization", "x"),)), "credential_conflict"),
        (
            FakeCredential(placement="query", field="q"),
            Request("GET", URL),
            "credential_conflict",
        ),
        (
            FakeCredential(placement="body_field", field="a"),
            Request("POST", URL, JSON, b'{"a":1}'),
            "credential_conflict",
        ),
        (
            FakeCredential(body_fields=(("a b", "key"),)),
            Request("POST", URL, FORM, b"a+b=1"),
            "credential_conflict",
        ),
        (
            FakeCredential(placement="header", field="Host"),
            Request("GET", URL),
            "header_invalid",
        ),
        *(
            (FakeCredential(placement="body_field", field="a"), request, "body_unfit")
            for request in (
                Request("POST", URL, JSON, b"[1]"),
                Request("POST", URL, JSON, b"{"),
                Request("POST", URL, JSON, b"[" * 100_000),
                Request("POST", URL, JSON, b'"x"'),
                Request("POST", URL, JSON, b'\xef\xbb\xbf{"b":1}'),
                Request("POST", URL, JSON, '{"b":1}'.encode("utf-16")),
                Request("POST", URL, (("Content-Type", "text/plain"),), b"a"),
                Request("POST", URL, (("Content-Type", "multipart/form-data; boundary=x"),), b""),
                Request("POST", URL, (), b"\xff\xfe"),
            )
        ),
    ],
)
async def test_no_room_is_a_refusal_before_any_secret_is_read(
    credential: Credential, request_: Request, code: str
) -> None:
    rig = Rig(credential=credential)
    with pytest.raises(RequestRefused) as refused:
        await rig.client.send(request_)
    assert refused.value.code == code
    assert (rig.vault.reads, rig.transport.transfers) == ([], [])
    assert rig.audit.only.message == str(refused.value)


@pytest.mark.parametrize(
    ("tools", "tool", "passes"),
    [
        (None, "any", True),
        (("a", "b"), "b", True),
        (("a",), "b", False),
        ((), "b", False),
        (("a",), None, True),
    ],
)
async def test_a_credential_is_for_its_tools(
    tools: tuple[str, ...] | None, tool: str | None, passes: bool
) -> None:
    rig = Rig(credential=FakeCredential(tools=tools), reply=lambda transfer: transfer.answer(200))
    rig.context.tool = tool
    if passes:
        await rig.client.send(Request("GET", URL))
        return
    with pytest.raises(RequestRefused) as refused:
        await rig.client.send(Request("GET", URL))
    assert refused.value.code == "credential_tool_not_allowed"
    assert rig.vault.reads == []


async def test_an_expired_credential_is_not_read() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200))
    now = rig.clock.now_us()
    await rig.client.with_credential(FakeCredential(expires_us=now + 1)).send(Request("GET", URL))
    with pytest.raises(SecretUnavailable, match="expired"):
        await rig.client.with_credential(FakeCredential(expires_us=now)).send(Request("GET", URL))
    assert rig.vault.reads == ["key"]
    assert rig.audit.rows[-1].message == "The secret was not available; nothing was sent"


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=60, deadline=None)
@given(
    content=st.dictionaries(TEXT, st.integers() | TEXT | st.lists(st.floats(allow_nan=False))),
    value=TEXT.filter(bool),
    indent=st.sampled_from([None, 1]),
)
def test_a_json_body_keeps_all_that_it_held(
    content: dict[str, Any], value: str, indent: int | None
) -> None:
    content.pop("secret field", None)
    body = json.dumps(content, indent=indent).encode()
    request = Request("POST", URL, JSON, body)
    credential = FakeCredential(placement="body_field", field="secret field")
    url = split_url(URL)
    check_room(request, url, credential)
    placed = place(request, url, credential, {"key": Secret(value)})
    assert json.loads(placed.body) == content | {"secret field": value}
    assert value not in repr(placed) or value in "Placed([redacted])"


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(TEXT.filter(bool), TEXT)), value=TEXT.filter(bool))
def test_a_form_and_a_query_keep_all_that_they_held(
    pairs: list[tuple[str, str]], value: str
) -> None:
    from urllib.parse import urlencode

    pairs = [pair for pair in pairs if pair[0] != "key"]
    text = urlencode(pairs)
    request = Request("POST", f"https://api.example.com/?{text}", FORM, text.encode())
    url = split_url("https://api.example.com/" + (f"?{text}" if text else ""))
    in_body = FakeCredential(placement="body_field", field="key")
    placed = place(request, url, in_body, {"key": Secret(value)})
    assert parse_qsl(placed.body.decode(), keep_blank_values=True) == [*pairs, ("key", value)]
    in_query = FakeCredential(placement="query", field="key")
    placed = place(request, url, in_query, {"key": Secret(value)})
    assert parse_qsl(placed.url.query, keep_blank_values=True) == [*pairs, ("key", value)]
