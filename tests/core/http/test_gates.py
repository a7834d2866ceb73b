"""The transport's own gates, asked without the client in front of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from core.http import (
    Belt,
    CurlTransport,
    Fault,
    Pin,
    Transfer,
    WireRequest,
    parse_url,
)
from tests.core.http.server import answer, says, serve
from tests.core.http.wire import curl


class Recorder:
    """A ``Sink`` that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[object] = []
        self.over = asyncio.Event()
        self.fails_on = ""

    def connected(self) -> None:
        self._hear("connected", "connected")

    def head(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        self._hear("head", status)

    def data(self, chunk: bytes) -> bool:
        self._hear("data", chunk)
        return True

    def end(self, fault: Fault | None, number: int) -> None:
        self.heard.append((fault, number))
        self.over.set()

    def _hear(self, name: str, what: object) -> None:
        self.heard.append(what)
        if self.fails_on == name:
            raise ValueError("canary")


@pytest.fixture
def transport() -> Iterator[CurlTransport]:
    with curl() as made:
        yield made


def start(
    transport: CurlTransport, url: str, pin: Pin, headers: tuple[tuple[str, str], ...] = ()
) -> tuple[Transfer, Recorder]:
    sink = Recorder()
    host = url.split("/")[2]
    wire = WireRequest("GET", parse_url(url, (host,)), headers, b"")
    return transport.start(wire, pin, Belt(2_000, 5_000), sink), sink


async def heard(transport: CurlTransport, url: str, pin: Pin) -> list[object]:
    _, sink = start(transport, url, pin)
    assert sink.heard == []  # never before start returned
    await asyncio.wait_for(sink.over.wait(), 5)
    return sink.heard


async def test_an_open_way(transport: CurlTransport) -> None:
    async with serve(says(answer(b"x"))) as server:
        pin = Pin("a.invalid", ("127.0.0.1",), True)
        assert await heard(transport, server.url(), pin) == ["connected", 200, b"x", (None, 0)]


async def test_an_address_that_the_table_refuses_is_not_connected_to(
    transport: CurlTransport,
) -> None:
    async with serve(says(answer(b"x"))) as server:
        pin = Pin("a.invalid", ("127.0.0.1",), False)
        assert await heard(transport, server.url(), pin) == [(Fault.PIN, 7)]
    assert server.connections == 0


async def test_a_pooled_connection_is_asked_about_too(transport: CurlTransport) -> None:
    async with serve(says(answer(b"x"))) as server:
        assert (await heard(transport, server.url(), Pin("a.invalid", ("127.0.0.1",), True)))[-1]
        denied = await heard(transport, server.url(), Pin("a.invalid", ("127.0.0.1",), False))
    assert denied == [(Fault.PIN, 42)]
    assert len(server.requests) == 1


async def test_no_pin_means_no_lookup(
    transport: CurlTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core.http import _curl_options

    real = _curl_options.apply

    def without_pin(easy, request, pin, belt, stale):  # type: ignore[no-untyped-def]
        import pycurl

        real(easy, request, pin, belt, stale)
        easy.setopt(pycurl.CONNECT_TO, ["::localhost:"])
        easy.unsetopt(pycurl.RESOLVE)

    monkeypatch.setattr(_curl_options, "apply", without_pin)
    async with serve(says(answer(b"x"))) as server:
        pin = Pin("a.invalid", ("127.0.0.1",), True)
        assert await heard(transport, server.url(), pin) == [(Fault.PIN, 42)]
    assert server.connections == 0


@pytest.mark.parametrize("where", ["connected", "head", "data"])
async def test_a_sink_that_raises_ends_its_own_transfer_silently(
    transport: CurlTransport, where: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async with serve(says(answer(b"x"))) as server:
        pin = Pin("a.invalid", ("127.0.0.1",), True)
        _, sink = start(transport, server.url(), pin)
        sink.fails_on = where
        await asyncio.wait_for(sink.over.wait(), 5)
        assert sink.heard[-1][0] is Fault.OTHER  # type: ignore[index]
        assert (await heard(transport, server.url(), pin))[-1] == (None, 0)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


async def test_nothing_is_heard_after_an_abort(transport: CurlTransport) -> None:
    async with serve(says(answer(b"x" * 100_000))) as server:
        pin = Pin("a.invalid", ("127.0.0.1",), True)
        for turns in range(12):
            transfer, sink = start(transport, server.url(), pin)
            for _ in range(turns):
                await asyncio.sleep(0)
            before = list(sink.heard)
            transfer.abort()
            transfer.abort()
            transfer.resume()
            for _ in range(20):
                await asyncio.sleep(0)
            assert sink.heard == before


@pytest.mark.parametrize("where", ["connected", "head", "data", "end"])
async def test_closing_the_transport_out_of_a_callback_ends_every_transfer_once(where: str) -> None:
    logged: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: logged.append(about))
    with curl() as transport:

        class Closer(Recorder):
            def _hear(self, name: str, what: object) -> None:
                super()._hear(name, what)
                if name == where:
                    transport.close()

            def end(self, fault: Fault | None, number: int) -> None:
                super().end(fault, number)
                if where == "end":
                    transport.close()

        async with serve(says(answer(b"x"))) as server:
            pin = Pin("a.invalid", ("127.0.0.1",), True)
            other = start(transport, server.url(), pin)[1]
            sink = Closer()
            wire = WireRequest("GET", parse_url(server.url(), ("127.0.0.1",)), (), b"")
            transport.start(wire, pin, Belt(2_000, 5_000), sink)
            for one in (sink, other):
                await asyncio.wait_for(one.over.wait(), 5)
                assert len([heard for heard in one.heard if isinstance(heard, tuple)]) == 1
    assert logged == []


async def test_many_small_chunks_reach_the_sink_as_few_pieces_of_bounded_size(
    transport: CurlTransport,
) -> None:
    chunks = b"".join(b"5\r\n%05d\r\n" % number for number in range(40_000))
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    async with serve(says(raw)) as server:
        heard_all = await heard(transport, server.url(), Pin("a.invalid", ("127.0.0.1",), True))
    pieces = [one for one in heard_all if isinstance(one, bytes)]
    assert b"".join(pieces) == b"".join(b"%05d" % number for number in range(40_000))
    assert len(pieces) < 1_000
    assert max(map(len, pieces)) <= 64 * 1024
