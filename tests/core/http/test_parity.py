"""Every path puts the same bytes on the wire, by the same options."""

from __future__ import annotations

import asyncio
from typing import Any

import pycurl
import pytest

from core.http import Request
from tests.core.http.h2_server import H2Stream, serve_h2
from tests.core.http.hostile import WAYS, listen, through
from tests.core.http.rig import SECRET
from tests.core.http.secure import ALLOW, HOST, Authority, names
from tests.core.http.server import answer, says, serve
from tests.core.http.wire import Wire, curl
from tests.fakes.http_ports import FakeCredential

HEADERS = (("X-B", "2"), ("x-a", "1"), ("X-B", "3"), ("X-Empty", ""), ("Content-Type", "a/b"))
REQUESTS = {
    "get": ("GET", "?q=1&q=%20", (), b""),
    "headers": ("GET", "", HEADERS, b""),
    "post": ("POST", "", HEADERS, b"\x00body\xff" * 1_000),
    "put, empty": ("PUT", "", (), b""),
    "get with a body": ("GET", "", (), b"x"),
    "delete": ("DELETE", "/a/../b/./%2e", (), b""),
    "large": ("POST", "", (), bytes(2_000_000)),
}
SIZES = {name: len(body) for name, (*_, body) in REQUESTS.items()}


@pytest.mark.parametrize("name", REQUESTS)
async def test_the_bytes_on_the_wire_are_the_same(name: str) -> None:
    method, path, headers, body = REQUESTS[name]
    heard: list[bytes] = []

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heard.append(head + await reader.readexactly(len(body)))
        writer.write(answer(b"x"))
        await writer.drain()
        heard[-1] += await reader.read(1)  # and nothing comes after it

    async with listen(record) as server:
        request = Request(method, server.url() + path.lstrip("/"), headers, body)
        for way in WAYS:
            with curl() as transport:
                wire = Wire(transport, credential=FakeCredential())
                assert (await through(way, wire.client, request)).body == b"x"
    assert len(heard) == len(WAYS)
    assert heard[0].endswith(b"\r\n\r\n" + body)
    assert heard == [heard[0]] * len(WAYS)


async def test_so_are_the_frames_of_http_2(tmp_path_factory: pytest.TempPathFactory) -> None:
    authority = Authority(tmp_path_factory.mktemp("authority"))

    async def whole(stream: H2Stream) -> None:
        stream.head()
        await stream.body(b"x")

    async with serve_h2(lambda stream, _: whole(stream), authority.context()) as seen:
        request = Request("GET", f"https://{HOST}:{seen.port}/?q", HEADERS)
        for way in WAYS:
            with curl(authority.cafile) as transport:
                wire = Wire(transport, allow=ALLOW, resolver=names(), credential=FakeCredential())
                assert (await through(way, wire.client, request)).body == b"x"
    blocks = [stream.block for stream in seen.streams]
    assert len(blocks[0]) > 50
    assert blocks == [blocks[0]] * len(WAYS)


class Recording(pycurl.Curl):  # type: ignore[misc]
    """An easy handle that writes down what is set on it and on its copies."""

    log: list[tuple[int, object]]

    def setopt(self, option: int, value: object, *rest: object) -> None:
        shown = value if isinstance(value, int | str | bytes | list) else type(value).__name__
        if option == pycurl.TIMEOUT_MS:
            shown = round(int(str(shown)), -4)  # what is left of the bound
        type(self).log.append((option, shown))
        super().setopt(option, value, *rest)


# None: a stream differs in how its body is read, which needs no option of libcurl's.
STREAM_DIFFERENCES: set[int] = set()


async def test_the_options_are_the_same_on_every_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pycurl, "Curl", Recording)
    recorded: list[list[tuple[int, object]]] = []
    async with serve(says(answer(b"x"))) as server:
        for way in WAYS:
            recorded.append([])
            Recording.log = recorded[-1]
            with curl() as transport:
                wire = Wire(transport, credential=FakeCredential())
                await through(way, wire.client, Request("POST", server.url(), HEADERS, b"body"))
    plain = recorded[0]
    assert len(plain) > 30
    assert SECRET in str(plain)  # the header list is in there, so nothing was left out
    assert recorded[1] == plain
    differing = {option for option, _ in set(map(str_of, recorded[2])) ^ set(map(str_of, plain))}
    assert differing <= STREAM_DIFFERENCES


def str_of(entry: tuple[int, Any]) -> tuple[int, str]:
    return entry[0], str(entry[1])
