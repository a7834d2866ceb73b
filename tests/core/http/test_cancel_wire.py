"""Stopped in every phase, in three ways, on real sockets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from core.errors import RequestCancelled
from core.http import CancelSignal, CurlTransport, Request
from core.http._curl_transfer import CurlTransfer
from core.model import AuditAction
from tests.core.http.hostile import listen
from tests.core.http.secure import ALLOW, HOST, Authority, names
from tests.core.http.server import answer, says, serve
from tests.core.http.wire import Wire, curl, descriptors
from tests.fakes.http_ports import FakeCredential
from tests.fakes.resolver import FakeResolver
from tests.support.waiting import until

UNSENT = AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND
EXPOSED = AuditAction.HTTP_CALL_CANCELLED

HOWS = ("signal", "task", "thread", "task of the loop's own")
STREAMED = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def transport(authority: Authority) -> Iterator[CurlTransport]:
    with curl(authority.cafile) as made:
        yield made


@dataclass
class Under:
    """A call under way, and how to stop it."""

    task: asyncio.Task[Any]
    signal: CancelSignal

    async def stop(self, how: str) -> None:
        """Stop the call; on return whatever ``how`` promises has happened."""
        if how == "signal":
            self.signal.set()
        elif how == "task":
            self.task.cancel()
            await asyncio.wait({self.task})
        elif how == "thread":
            thread = threading.Thread(target=self.signal.set)
            thread.start()
            thread.join()
            await asyncio.wait({self.task})
        else:
            asyncio.get_running_loop().call_soon(self.signal.set)
            await asyncio.wait({self.task})

    async def ended(self, how: str) -> None:
        """Check what the caller gets."""
        expected = asyncio.CancelledError if how == "task" else RequestCancelled
        with pytest.raises(expected):
            await self.task


def begin(wire: Wire, url: str) -> Under:
    signal = CancelSignal()
    call = wire.client.send_cancellable(Request("GET", url), signal)
    return Under(asyncio.create_task(call), signal)


def wired(transport: CurlTransport, resolver: FakeResolver | None = None) -> Wire:
    return Wire(
        transport,
        allow=("127.0.0.1", *ALLOW),
        resolver=resolver or names(),
        credential=FakeCredential(),
    )


def under_way(transport: CurlTransport) -> list[CurlTransfer]:
    """Return the transfers that libcurl has."""
    return [one for driver in transport._drivers.values() for one in driver._transfers.values()]


@pytest.mark.parametrize("how", HOWS)
async def test_before_it_runs(transport: CurlTransport, how: str) -> None:
    wire = wired(transport)
    async with serve(says(answer(b"x"))) as server:
        call = begin(wire, server.url())
        if how == "task":
            call.task.cancel()
            await asyncio.wait({call.task})
            await call.ended(how)
            assert wire.audit.rows == []  # the call never began
        else:
            call.signal.set()
            await call.ended(how)
            assert wire.audit.only.action is UNSENT
    assert server.connections == 0


@pytest.mark.parametrize("how", HOWS)
async def test_while_resolving(transport: CurlTransport, how: str) -> None:
    resolver = names()
    resolver.hold(HOST)
    wire = wired(transport, resolver)
    async with serve(says(answer(b"x"))) as server:
        call = begin(wire, server.url(host=HOST, scheme="https"))
        await until(lambda: resolver.waiting == 1)
        await call.stop(how)
        await call.ended(how)
    assert (server.connections, resolver.waiting) == (0, 0)
    assert wire.audit.only.action is UNSENT


@pytest.mark.parametrize("how", HOWS)
async def test_handed_over_and_not_yet_connecting(transport: CurlTransport, how: str) -> None:
    resolver = names()
    resolver.hold(HOST)
    wire = wired(transport, resolver)
    async with serve(says(answer(b"x"))) as server:
        call = begin(wire, server.url(host=HOST, scheme="https"))
        await until(lambda: resolver.waiting == 1)
        resolver.release(HOST)
        await until(lambda: under_way(transport))
        await call.stop(how)
        await call.ended(how)
        assert under_way(transport) == []
    assert wire.audit.only.action is EXPOSED
    assert server.requests == []


@asynccontextmanager
async def tls_that_stalls() -> Any:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        arrived.set()
        with suppress(ConnectionError):
            while await reader.read(65_536):
                pass
        gone.set()

    async with listen(talk) as server:
        yield server.url(HOST, "https"), arrived, gone


@asynccontextmanager
async def answer_that_stalls(raw: bytes) -> Any:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        await writer.drain()
        arrived.set()
        with suppress(ConnectionError):
            await reader.read(1)
        gone.set()

    async with listen(talk) as server:
        yield server.url(), arrived, gone


PHASES: dict[str, Callable[[], Any]] = {
    "TLS": tls_that_stalls,
    "waiting": lambda: answer_that_stalls(b""),
    "mid-head": lambda: answer_that_stalls(STREAMED[:30]),
    "mid-body": lambda: answer_that_stalls(STREAMED),
}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("phase", PHASES)
async def test_on_the_wire_the_peer_sees_the_close_and_a_descriptor_is_gone(
    transport: CurlTransport, phase: str, how: str
) -> None:
    wire = wired(transport)
    async with serve(says(answer(b"x"))) as warm:  # the driver's own descriptors are there
        await wire.client.send(Request("GET", warm.url()))
    async with PHASES[phase]() as (url, arrived, gone):
        call = begin(wire, url)
        await asyncio.wait_for(arrived.wait(), 5)
        if phase.startswith("mid"):
            await until(lambda: any(one._lines or one._head_seen for one in under_way(transport)))
        before = descriptors()
        await call.stop(how)
        if how == "signal":  # and nothing else has run since
            assert descriptors() == before - 1
        await asyncio.wait_for(gone.wait(), 5)
        await call.ended(how)
    assert [row.action for row in wire.audit.rows] == [AuditAction.HTTP_CALL, EXPOSED]


@pytest.mark.parametrize("how", HOWS)
async def test_between_the_bodys_end_and_the_row_the_answer_stands(
    transport: CurlTransport, how: str
) -> None:
    wire = wired(transport)
    wire.audit.hold()
    async with serve(says(answer(b"whole"))) as server:
        call = begin(wire, server.url())
        await asyncio.wait_for(wire.audit.appending.wait(), 5)
        if how == "task":
            call.task.cancel()
        elif how == "thread":
            thread = threading.Thread(target=call.signal.set)
            thread.start()
            thread.join()
        else:
            call.signal.set()
        await asyncio.sleep(0.01)
        assert not call.task.done()
        wire.audit.release()
        if how == "task":
            await call.ended(how)
        else:
            assert (await call.task).body == b"whole"
    assert (wire.audit.only.action, wire.audit.only.success) == (AuditAction.HTTP_CALL, True)


async def test_many_in_every_phase_end_with_one_signal(transport: CurlTransport) -> None:
    resolver = names()
    resolver.hold(HOST)
    wire, signal = wired(transport, resolver), CancelSignal()
    async with PHASES["waiting"]() as (waiting, _, _), PHASES["mid-body"]() as (body, _, _):
        urls = [waiting, body, f"https://{HOST}/"] * 20
        tasks = [
            asyncio.create_task(wire.client.send_cancellable(Request("GET", url), signal))
            for url in urls
        ]
        await until(lambda: resolver.waiting == 20)
        await until(lambda: len(under_way(transport)) == 40)
        signal.set()
        assert under_way(transport) == []
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(one) for one in results} == {RequestCancelled}
    actions = [row.action for row in wire.audit.rows]
    assert (actions.count(UNSENT), actions.count(EXPOSED)) == (20, 40)
