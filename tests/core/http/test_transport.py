from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator

import pytest

from core.errors import RequestRefused, RequestTimeout, TransportFailed
from core.http import Bounds, CurlTransport, Request
from tests.core.http.rig import SECRET
from tests.core.http.server import Seen, answer, says, serve, silent
from tests.core.http.wire import Wire, curl
from tests.fakes.http_ports import FakeCredential
from tests.fakes.resolver import FakeResolver


@pytest.fixture
def transport() -> Iterator[CurlTransport]:
    with curl() as made:
        yield made


async def test_get(transport: CurlTransport) -> None:
    wire = Wire(transport)
    async with serve(says(answer(b"hello", "200 OK", "X-A: 1", "X-A: 2"))) as server:
        response = await wire.client.send(
            Request("GET", server.url("/a/../b?q=1#f"), (("X-Mine", "yes"), ("X-Empty", "")))
        )
    assert (response.status, response.body) == (200, b"hello")
    assert [v for k, v in response.headers if k == "X-A"] == ["1", "2"]
    (seen,) = server.requests
    assert seen.line == "GET /a/../b?q=1 HTTP/1.1"
    assert seen.all("host") == [f"127.0.0.1:{server.port}"]
    assert seen.all("x-mine") == ["yes"]
    assert seen.all("x-empty") == [""]
    assert seen.all("user-agent") == ["stepbrake"]
    assert seen.all("accept-encoding") == ["identity"]
    assert seen.all("authorization") == []
    assert wire.audit.only.path == "/a/../b"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET", "OPTIONS"])
@pytest.mark.parametrize(
    "body", [b"", b"\x00\xff body \r\n", b"x" * 300_000], ids=["empty", "binary", "large"]
)
async def test_methods_and_bodies(transport: CurlTransport, method: str, body: bytes) -> None:
    wire = Wire(transport)
    async with serve(says(answer(b"ok"))) as server:
        response = await wire.client.send(Request(method, server.url(), body=body))
    assert response.body == b"ok"
    (seen,) = server.requests
    assert (seen.line.split()[0], seen.body) == (method, body)
    assert seen.all("content-type") == []
    assert seen.all("expect") == []


async def test_head_has_no_body(transport: CurlTransport) -> None:
    wire = Wire(transport)
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    async with serve(says(raw)) as server:
        response = await wire.client.send(Request("HEAD", server.url()))
    assert (response.body, response.header("content-length")) == (b"", "1000")


async def test_a_given_content_type_and_user_agent_go_out_as_given(
    transport: CurlTransport,
) -> None:
    wire = Wire(transport)
    headers = (("content-type", "application/json"), ("User-Agent", "mine/1"))
    async with serve(says(answer())) as server:
        await wire.client.send(Request("POST", server.url(), headers, b"{}"))
    (seen,) = server.requests
    assert seen.all("content-type") == ["application/json"]
    assert seen.all("user-agent") == ["mine/1"]


async def test_the_secret_goes_out_and_nowhere_else(transport: CurlTransport) -> None:
    wire = Wire(transport, credential=FakeCredential(hosts=("127.0.0.1",)))
    async with serve(says(answer())) as server:
        await wire.client.send(Request("GET", server.url()))
    assert server.requests[0].all("authorization") == [f"Bearer {SECRET}"]
    assert SECRET not in repr(wire.audit.rows)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer(transport: CurlTransport, status: int) -> None:
    wire = Wire(transport, credential=FakeCredential())
    raw = answer(b"", f"{status} Moved", "Location: /elsewhere")
    async with serve(says(raw)) as server:
        response = await wire.client.send(Request("GET", server.url()))
    assert (response.status, response.header("location")) == (status, "/elsewhere")
    assert len(server.requests) == 1


async def test_a_proxy_of_the_environment_is_ignored(
    transport: CurlTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    wire = Wire(transport)
    async with serve(says(answer(b"direct"))) as server:
        assert (await wire.client.send(Request("GET", server.url()))).body == b"direct"


async def test_interim_heads_and_trailers_are_not_the_head(transport: CurlTransport) -> None:
    wire = Wire(transport)
    raw = (
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n"
        b"4\r\nbody\r\n0\r\nX-T: late\r\n\r\n"
    )
    async with serve(says(raw)) as server:
        response = await wire.client.send(Request("GET", server.url()))
    assert (response.status, response.body) == (200, b"body")
    assert response.header("link") is None
    assert response.header("x-t") is None


async def test_a_compressed_body_is_left_as_it_is(transport: CurlTransport) -> None:
    wire = Wire(transport)
    bomb = gzip.compress(bytes(20_000_000))
    async with serve(says(answer(bomb, "200 OK", "Content-Encoding: gzip"))) as server:
        response = await wire.client.send(Request("GET", server.url()))
    assert response.body == bomb


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "connection_lost"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha", "connection_lost"),
        (b"", "connection_lost"),
        (b"just text, no head\r\n\r\n", "protocol_error"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 400_000 + b"\r\n\r\n", "protocol_error"),
    ],
    ids=["short", "cut chunk", "nothing", "no head", "endless header"],
)
async def test_broken_answers(transport: CurlTransport, raw: bytes, code: str) -> None:
    async def handle(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        writer.close()

    wire = Wire(transport)
    async with serve(handle) as server:
        with pytest.raises(TransportFailed) as failed:
            await wire.client.send(Request("GET", server.url()))
    assert failed.value.code == code
    assert failed.value.number > 0
    assert not wire.audit.only.success


async def test_nobody_listens(transport: CurlTransport) -> None:
    wire = Wire(transport)
    async with serve(silent) as server:
        gone = server.url()
    with pytest.raises(TransportFailed) as failed:
        await wire.client.send(Request("GET", gone))
    assert (failed.value.code, failed.value.number) == ("connect_failed", 7)
    assert str(server.port) not in str(failed.value)


async def test_the_answer_limit_on_the_wire(transport: CurlTransport) -> None:
    wire = Wire(transport, bounds=Bounds(body_bytes=100_000))
    async with serve(says(answer(bytes(10_000_000)))) as server:
        with pytest.raises(TransportFailed) as failed:
            await wire.client.send(Request("GET", server.url()))
        await asyncio.wait_for(server.peer_closed.wait(), 5)
    assert failed.value.code == "response_too_large"


async def test_our_bound_speaks_before_libcurls(transport: CurlTransport) -> None:
    wire = Wire(transport, bounds=Bounds(total=0.05))
    async with serve(silent) as server:
        with pytest.raises(RequestTimeout) as timed_out:
            await wire.client.send(Request("GET", server.url()))
        await asyncio.wait_for(server.peer_closed.wait(), 5)
    assert timed_out.value.code == "timeout_total"


async def test_a_connection_is_used_again(transport: CurlTransport) -> None:
    wire = Wire(transport)
    async with serve(says(answer(b"x"))) as server:
        for _ in range(5):
            await wire.client.send(Request("GET", server.url()))
    assert server.connections == 1


async def test_two_credentials_never_share_a_connection(transport: CurlTransport) -> None:
    wire = Wire(transport, credential=FakeCredential())
    other = wire.client.with_credential(None)
    async with serve(says(answer(b"x"))) as server:
        for _ in range(2):
            await wire.client.send(Request("GET", server.url()))
            await other.send(Request("GET", server.url()))
    assert server.connections == 2
    with_secret = {s.connection for s in server.requests if s.all("authorization")}
    assert len(with_secret) == 1


async def test_two_pins_for_one_host_never_share_a_connection(transport: CurlTransport) -> None:
    resolver = FakeResolver({"pinned.test": ("127.0.0.1",)})
    wire = Wire(transport, allow=("pinned.test",), resolver=resolver)
    async with serve(says(answer(b"first"))) as server:
        url = server.url(host="pinned.test")
        assert (await wire.client.send(Request("GET", url))).body == b"first"
        assert (await wire.client.send(Request("GET", url))).body == b"first"
        assert server.connections == 1
        assert server.requests[0].all("host") == [f"pinned.test:{server.port}"]
        resolver.answers["pinned.test"] = ("127.0.0.2",)
        with pytest.raises(TransportFailed) as failed:
            await wire.client.send(Request("GET", url))
    assert failed.value.code == "connect_failed"
    assert server.connections == 1


async def test_addresses_of_a_pin_are_tried_in_turn(transport: CurlTransport) -> None:
    resolver = FakeResolver({"pinned.test": ("127.0.0.2", "127.0.0.1")})
    wire = Wire(transport, allow=("pinned.test",), resolver=resolver)
    async with serve(says(answer(b"x"))) as server:
        response = await wire.client.send(Request("GET", server.url(host="pinned.test")))
    assert response.body == b"x"


async def test_rebinding_never_connects(transport: CurlTransport) -> None:
    resolver = FakeResolver({"rebind.test": ("127.0.0.1",)})
    wire = Wire(transport, allow=("*.test",), resolver=resolver)
    async with serve(says(answer(b"x"))) as server:
        with pytest.raises(RequestRefused):
            await wire.client.send(Request("GET", server.url(host="rebind.test", scheme="https")))
    assert server.connections == 0


async def test_ipv6(transport: CurlTransport) -> None:
    wire = Wire(transport, allow=("[::1]",))
    try:
        async with serve(says(answer(b"six")), host="::1") as server:
            response = await wire.client.send(Request("GET", server.url(host="[::1]")))
    except OSError:
        pytest.skip("no IPv6 loopback here")
    assert response.body == b"six"
    assert server.requests[0].all("host") == [f"[::1]:{server.port}"]


async def test_more_pins_than_are_kept_work(transport: CurlTransport) -> None:
    resolver = FakeResolver()
    wire = Wire(transport, allow=("many.test",), resolver=resolver)
    async with serve(says(answer(b"x")), host="0.0.0.0") as server:
        url = server.url(host="many.test")
        for number in [*range(1, 250), *range(1, 60), *range(1, 5)]:
            for third in (1, 2):
                resolver.answers["many.test"] = (f"127.0.{third}.{number}",)
                assert (await wire.client.send(Request("GET", url))).body == b"x"
    (driver,) = transport._drivers.values()
    assert len(driver._labels) <= 257
