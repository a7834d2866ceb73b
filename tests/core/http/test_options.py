"""Each hardening option earns its place: without it, a server gets what it must not get."""

from __future__ import annotations

import asyncio
import socket
import ssl
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pycurl
import pytest

from core.errors import TransportFailed
from core.http import Bounds, CurlTransport, Fault, Pin, Request, Response, Url, WireRequest
from core.http._curl_options import HARDENING
from core.http._curl_transfer import CurlTransfer
from core.http._seam import Belt
from tests.core.http.altered import Altered
from tests.core.http.rig import SECRET
from tests.core.http.secure import ALLOW, HOST, OTHER, Authority, names
from tests.core.http.server import Seen, answer, says, serve
from tests.core.http.test_gates import Recorder
from tests.core.http.test_hostile import bomb
from tests.core.http.wire import Wire, curl
from tests.fakes.http_ports import FakeCredential

TUNING = {
    "BUFFERSIZE": 65_536,
    "MAXAGE_CONN": 60,
    "MAXLIFETIME_CONN": 600,
    "NOSIGNAL": 1,
    "TCP_NODELAY": 1,
}
LOCKS = {
    "DEFAULT_PROTOCOL": "https",
    "DISALLOW_USERNAME_IN_URL": 1,
    "FOLLOWLOCATION": 0,
    "HTTP09_ALLOWED": 0,
    "HTTPAUTH": 0,
    "HTTP_CONTENT_DECODING": 0,
    "HTTP_VERSION": 4,
    "MAXREDIRS": 0,
    "NETRC": 0,
    "NOPROXY": "*",
    "PATH_AS_IS": 1,
    "PROTOCOLS": 3,
    "PROXY": "",
    "REDIR_PROTOCOLS": 0,
    "SSLVERSION": 6,
    "SSL_VERIFYHOST": 2,
    "SSL_VERIFYPEER": 1,
    "UNRESTRICTED_AUTH": 0,
    "VERBOSE": 0,
}


@pytest.fixture
def altered(monkeypatch: pytest.MonkeyPatch) -> Altered:
    return Altered(monkeypatch)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_a_change_of_an_option_is_deliberate() -> None:
    assert {option.name: option.value for option in HARDENING} == TUNING | LOCKS
    assert len({option.number for option in HARDENING}) == len(HARDENING)


async def get(path: str = "/", raw: bytes = b"", **request: Any) -> tuple[list[Seen], Response]:
    """Send one call with a credential to a server that says ``raw``."""
    with curl() as transport:
        async with serve(says(raw or answer(b"x"))) as server:
            wire = Wire(transport, credential=FakeCredential(), bounds=Bounds(total=5))
            response = await wire.client.send(Request("GET", server.url(path), **request))
    return server.requests, response


async def raw_get(url: Url | str, port: int) -> list[object]:
    """Hand a URL that passed no gate to the transport, and return what its sink hears."""

    class Bare(Url):
        def text(self) -> str:
            return str(url)

    sink = Recorder()
    with curl() as transport:
        wire = WireRequest("GET", Bare("http", "127.0.0.1", port, "/", ""), (), b"")
        transport.start(wire, Pin("a.invalid", ("127.0.0.1",), True), Belt(500, 900), sink)
        await asyncio.wait_for(sink.over.wait(), 5)
    return sink.heard


# ---- proxies


@pytest.fixture
def dead_proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    yield


@pytest.mark.parametrize("dropped", [(), ("PROXY",), ("NOPROXY",)])
async def test_either_proxy_option_keeps_an_environment_proxy_out(
    altered: Altered, dead_proxy: None, dropped: tuple[str, ...]
) -> None:
    altered.without(*dropped)
    assert len((await get())[0]) == 1


async def test_without_both_an_environment_proxy_would_get_the_call(
    altered: Altered, dead_proxy: None
) -> None:
    altered.without("PROXY", "NOPROXY")
    with pytest.raises(TransportFailed):
        await get()


# ---- redirects

REDIRECTING = ("FOLLOWLOCATION", "MAXREDIRS", "REDIR_PROTOCOLS")
FOLLOWS = {"FOLLOWLOCATION": 1, "MAXREDIRS": -1, "REDIR_PROTOCOLS": 3}


async def redirected(altered: Altered, other: int = 0) -> list[Seen]:
    async def handle(seen: Seen, writer: asyncio.StreamWriter) -> None:
        target = f"http://localhost:{other}/" if other else "/next"
        moved = answer(b"", "302 Found", f"Location: {target}")
        writer.write(moved if seen.path == "/" else answer(b"x"))

    with curl() as transport:
        async with serve(handle) as server:
            wire = Wire(transport, credential=FakeCredential(), bounds=Bounds(total=5))
            with suppress(TransportFailed):
                await wire.client.send(Request("GET", server.url()))
    return server.requests


@pytest.mark.parametrize("kept", REDIRECTING)
async def test_each_redirect_option_alone_keeps_one_request_on_the_wire(
    altered: Altered, kept: str
) -> None:
    altered.without(**{name: value for name, value in FOLLOWS.items() if name != kept})
    altered.unguarded()
    assert len(await redirected(altered)) == 1


async def test_without_them_the_pre_request_gate_still_holds(altered: Altered) -> None:
    altered.without(**FOLLOWS)
    assert len(await redirected(altered)) == 1


async def test_without_all_of_them_a_redirect_would_be_followed(altered: Altered) -> None:
    altered.without(**FOLLOWS)
    altered.unguarded()
    assert [seen.path for seen in await redirected(altered)] == ["/", "/next"]


@pytest.mark.parametrize("unsafe", [False, True])
async def test_without_unrestricted_auth_off_another_host_would_get_the_secret(
    altered: Altered, unsafe: bool
) -> None:
    altered.without(**FOLLOWS, UNRESTRICTED_AUTH=int(unsafe))
    altered.unguarded()
    async with serve(says(answer(b"x"))) as other:
        await redirected(altered, other.port)
    (seen,) = other.requests
    assert bool(seen.all("authorization")) is unsafe


# ---- other sources of credentials


@pytest.mark.parametrize(
    ("unsafe", "leaks"),
    [
        ({}, False),
        ({"NETRC": 1}, False),
        ({"HTTPAUTH": 1}, False),
        ({"NETRC": 1, "HTTPAUTH": 1}, True),
    ],
)
async def test_a_netrc_of_the_user_is_a_source_of_credentials_only_without_both(
    altered: Altered, home: Path, unsafe: dict[str, int], leaks: bool
) -> None:
    (home / ".netrc").write_text("machine 127.0.0.1 login me password mine\n")
    (home / ".netrc").chmod(0o600)
    altered.without(**unsafe)
    with curl() as transport:
        async with serve(says(answer(b"x"))) as server:
            await Wire(transport).client.send(Request("GET", server.url()))
    assert bool(server.requests[0].all("authorization")) is leaks


@pytest.mark.parametrize("unsafe", [False, True])
async def test_a_user_in_a_url_would_go_out_without_its_option(
    altered: Altered, unsafe: bool
) -> None:
    altered.unguarded()
    altered.without(
        **({"DISALLOW_USERNAME_IN_URL": 0, "HTTPAUTH": 1} if unsafe else {"HTTPAUTH": 1})
    )
    async with serve(says(answer(b"x"))) as server:
        await raw_get(f"http://me:mine@127.0.0.1:{server.port}/", server.port)
    sent = [seen.all("authorization") for seen in server.requests]
    assert sent == ([["Basic bWU6bWluZQ=="]] if unsafe else [])


# ---- protocols


@pytest.mark.parametrize("unsafe", [False, True])
async def test_another_protocol_would_be_spoken_without_its_option(
    altered: Altered, unsafe: bool
) -> None:
    altered.unguarded()
    if unsafe:
        altered.without("PROTOCOLS")
    async with serve(says(b"")) as server:
        heard = await raw_get(f"gopher://127.0.0.1:{server.port}/1/%0d%0a%0d%0a", server.port)
    assert server.connections == int(unsafe)
    if not unsafe:
        assert heard == [(Fault.PROTOCOL, 1)]


@pytest.mark.parametrize("unsafe", [False, True])
async def test_a_url_without_a_scheme_would_go_out_in_clear(altered: Altered, unsafe: bool) -> None:
    if unsafe:
        altered.without("DEFAULT_PROTOCOL")
    async with serve(says(answer(b"x"))) as server:
        await raw_get(f"127.0.0.1:{server.port}/", server.port)
    assert len(server.requests) == int(unsafe)


@pytest.mark.parametrize("unsafe", [False, True])
async def test_a_body_without_a_head_would_be_an_answer(
    altered: Altered, monkeypatch: pytest.MonkeyPatch, unsafe: bool
) -> None:
    if unsafe:
        altered.without(HTTP09_ALLOWED=1)
    taken: list[bytes] = []
    monkeypatch.setattr(CurlTransfer, "_on_body", lambda _, chunk: taken.append(chunk))

    async def handle(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"no head at all")
        writer.close()

    async with serve(handle) as server:
        await raw_get(server.url(), server.port)
    assert taken == ([b"no head at all"] if unsafe else [])


async def test_http_2_in_clear_would_ask_for_an_upgrade(altered: Altered) -> None:
    assert not (await get())[0][0].all("upgrade")
    altered.without(HTTP_VERSION=pycurl.CURL_HTTP_VERSION_2_0)
    assert (await get())[0][0].all("upgrade") == ["h2c"]


@pytest.mark.parametrize("unsafe", [False, True])
async def test_http_3_would_leave_tcp(altered: Altered, unsafe: bool, authority: Authority) -> None:
    if unsafe:
        altered.without(HTTP_VERSION=pycurl.CURL_HTTP_VERSION_3)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        curl(authority.cafile) as transport,
    ):
        async with serve(says(answer(b"x")), tls=authority.context()) as server:
            datagrams.bind(("127.0.0.1", server.port))
            datagrams.setblocking(False)
            wire = Wire(transport, allow=ALLOW, resolver=names(), bounds=Bounds(total=5))
            await wire.client.send(Request("GET", server.url(host=HOST, scheme="https")))
            try:
                came = bool(datagrams.recv(2_000))
            except BlockingIOError:
                came = False
    assert came is unsafe


@pytest.mark.parametrize(
    ("decoding", "offered", "unpacked"), [(0, False, False), (0, True, False), (1, True, True)]
)
async def test_a_bomb_would_be_unpacked(
    altered: Altered, decoding: int, offered: bool, unpacked: bool
) -> None:
    altered.without(HTTP_CONTENT_DECODING=decoding)
    if offered:
        altered.also(ACCEPT_ENCODING="")
    packed = bomb(4 * 2**20)
    raw = answer(packed, "200 OK", "Content-Encoding: gzip")
    _, response = await get(raw=raw)
    assert len(response.body) == (4 * 2**20 if unpacked else len(packed))


async def test_without_path_as_is_another_path_would_go_out(altered: Altered) -> None:
    assert (await get("/a/../b"))[0][0].path == "/a/../b"
    altered.without("PATH_AS_IS")
    assert (await get("/a/../b"))[0][0].path == "/b"


@pytest.mark.parametrize("unsafe", [False, True])
async def test_verbose_would_print_the_secret(
    altered: Altered, unsafe: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    if unsafe:
        altered.without(VERBOSE=1)
    await get()
    assert (SECRET in capfd.readouterr().err) is unsafe


# ---- TLS


async def secure(transport: CurlTransport, context: ssl.SSLContext) -> list[Seen]:
    wire = Wire(transport, allow=ALLOW, resolver=names(), bounds=Bounds(total=5))
    async with serve(says(answer(b"x")), tls=context) as server:
        with suppress(TransportFailed):
            await wire.client.send(Request("GET", server.url(host=HOST, scheme="https")))
    return server.requests


@pytest.mark.parametrize("unsafe", [False, True])
async def test_an_unknown_authority_would_get_the_request(
    altered: Altered, authority: Authority, unsafe: bool
) -> None:
    if unsafe:
        altered.without(SSL_VERIFYPEER=0)
    with curl() as transport:
        assert len(await secure(transport, authority.context())) == int(unsafe)


@pytest.mark.parametrize("unsafe", [False, True])
async def test_another_hosts_certificate_would_do(
    altered: Altered, authority: Authority, unsafe: bool
) -> None:
    if unsafe:
        altered.without(SSL_VERIFYHOST=0)
    with curl(authority.cafile) as transport:
        assert len(await secure(transport, authority.context(OTHER))) == int(unsafe)


@pytest.mark.parametrize("unsafe", [False, True])
async def test_an_outdated_protocol_would_do(
    altered: Altered, authority: Authority, unsafe: bool
) -> None:
    altered.also(SSL_CIPHER_LIST="ALL:@SECLEVEL=0")
    if unsafe:
        altered.without(SSLVERSION=pycurl.SSLVERSION_TLSv1_0)
    context = authority.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with curl(authority.cafile) as transport:
        assert len(await secure(transport, context)) == int(unsafe)
