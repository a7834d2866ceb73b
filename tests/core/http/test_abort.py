from __future__ import annotations

import asyncio
import hashlib
import random
import socket
import threading
from collections.abc import Iterator

import pytest

from core.errors import HttpError, RequestCancelled, TransportFailed
from core.http import Bounds, CancelSignal, CurlTransport, Request
from core.model import AuditAction
from tests.core.http.server import Seen, answer, says, serve, silent
from tests.core.http.wire import Wire, curl, descriptors
from tests.fakes.http_ports import FakeCredential
from tests.support.waiting import until


@pytest.fixture
def transport() -> Iterator[CurlTransport]:
    with curl() as made:
        yield made


async def trickle(_seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
    await writer.drain()
    await asyncio.Event().wait()


async def test_waiting_for_the_answer_the_peer_sees_the_close(transport: CurlTransport) -> None:
    wire = Wire(transport, credential=FakeCredential())
    signal = CancelSignal()
    async with serve(silent) as server:
        task = asyncio.create_task(
            wire.client.send_cancellable(Request("GET", server.url()), signal)
        )
        await asyncio.wait_for(server.arrived.wait(), 5)
        before = descriptors()
        signal.set()
        assert descriptors() == before - 1
        await asyncio.wait_for(server.peer_closed.wait(), 5)
        with pytest.raises(RequestCancelled):
            await task
    assert wire.audit.only.action is AuditAction.HTTP_CALL_CANCELLED


async def test_connecting(transport: CurlTransport) -> None:
    wire = Wire(transport, credential=FakeCredential())
    async with serve(says(answer())) as server:  # the driver's own descriptors are there
        await wire.client.send(Request("GET", server.url()))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]  # the queue is full: connects hang
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        signal = CancelSignal()
        task = asyncio.create_task(
            wire.client.send_cancellable(Request("GET", f"http://127.0.0.1:{port}/"), signal)
        )
        baseline = descriptors()
        await until(lambda: descriptors() != baseline)
        signal.set()
        assert descriptors() == baseline
        with pytest.raises(RequestCancelled):
            await task
        for filler in fillers:
            filler.close()
    assert wire.audit.rows[-1].action is AuditAction.HTTP_CALL_CANCELLED


async def test_mid_body_the_reader_keeps_what_had_arrived(transport: CurlTransport) -> None:
    wire = Wire(transport)
    signal = CancelSignal()
    async with serve(trickle) as server:
        async with wire.client.stream(Request("GET", server.url()), signal) as stream:
            assert await anext(stream) == b"first"
            signal.set()
            with pytest.raises(RequestCancelled):
                await anext(stream)
        await asyncio.wait_for(server.peer_closed.wait(), 5)
    assert wire.audit.only.action is AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL


async def test_from_another_thread(transport: CurlTransport) -> None:
    wire = Wire(transport)
    signal = CancelSignal()
    async with serve(silent) as server:
        task = asyncio.create_task(
            wire.client.send_cancellable(Request("GET", server.url()), signal)
        )
        await asyncio.wait_for(server.arrived.wait(), 5)
        thread = threading.Thread(target=signal.set)
        thread.start()
        with pytest.raises(RequestCancelled):
            await task
        thread.join()
        await asyncio.wait_for(server.peer_closed.wait(), 5)


async def test_cancelling_the_task_closes_the_socket(transport: CurlTransport) -> None:
    wire = Wire(transport, credential=FakeCredential())
    async with serve(silent) as server:
        task = asyncio.create_task(wire.client.send(Request("GET", server.url())))
        await asyncio.wait_for(server.arrived.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.peer_closed.wait(), 5)
    assert wire.audit.only.action is AuditAction.HTTP_CALL_CANCELLED


async def test_leaving_a_stream_early_closes_the_socket(transport: CurlTransport) -> None:
    wire = Wire(transport)
    async with serve(trickle) as server:
        async with wire.client.stream(Request("GET", server.url())) as stream:
            async for _ in stream:
                break
        await asyncio.wait_for(server.peer_closed.wait(), 5)


async def test_an_aborted_connection_is_not_used_again(transport: CurlTransport) -> None:
    wire = Wire(transport)
    first = True

    async def handle(seen: Seen, writer: asyncio.StreamWriter) -> None:
        nonlocal first
        if first:
            first = False
            await trickle(seen, writer)
        writer.write(answer(b"mine"))

    async with serve(handle) as server:
        async with wire.client.stream(Request("GET", server.url())) as stream:
            await anext(stream)
        assert (await wire.client.send(Request("GET", server.url()))).body == b"mine"
    assert server.connections == 2


async def test_many_stalled_calls_end_at_once_and_leave_no_descriptor(
    transport: CurlTransport,
) -> None:
    wire = Wire(transport)
    signal = CancelSignal()
    async with serve(silent) as server:
        baseline = descriptors()
        tasks = [
            asyncio.create_task(wire.client.send_cancellable(Request("GET", server.url()), signal))
            for _ in range(100)
        ]
        await until(lambda: len(server.requests) >= 100)
        threads = threading.active_count()
        signal.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(one, RequestCancelled) for one in results)
        await until(lambda: not (server.closed < 100 or descriptors() > baseline + 2))
    assert threads == threading.active_count()
    assert len(wire.audit.rows) == 100


async def test_no_answer_is_ever_anothers(transport: CurlTransport, soak: bool) -> None:
    wire = Wire(transport)
    chance = random.Random(7)
    calls = 3_000 if soak else 400

    async def handle(seen: Seen, writer: asyncio.StreamWriter) -> None:
        body = seen.path.encode() * 200
        head, rest = answer(body)[:60], answer(body)[60:]
        writer.write(head)
        await asyncio.sleep(0)
        writer.write(rest)

    whole = 0
    crossed: list[str] = []
    gate = asyncio.Semaphore(20)

    async def one(number: int) -> None:
        nonlocal whole
        signal = CancelSignal()
        path = f"/{number}"
        async with gate:
            if chance.random() < 0.5:
                delay = chance.random() * 0.004
                asyncio.get_running_loop().call_later(delay, signal.set)
            try:
                response = await wire.client.send_cancellable(
                    Request("GET", server.url(path)), signal
                )
            except RequestCancelled:
                return
        whole += 1
        if response.body != path.encode() * 200:
            crossed.append(path)

    async with serve(handle) as server:
        await asyncio.gather(*(one(number) for number in range(calls)))
    assert crossed == []
    assert 0 < whole < calls
    assert len({row.call_id for row in wire.audit.rows}) == len(wire.audit.rows) == calls


async def test_a_paused_body_arrives_whole(transport: CurlTransport) -> None:
    wire = Wire(transport)
    chance = random.Random(3)
    body = chance.randbytes(6_000_000)

    async def handle(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        at = 0
        while at < len(body):
            piece = body[at : at + chance.randrange(1, 200_000)]
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            at += len(piece)
        writer.write(b"0\r\n\r\n")

    digest = hashlib.sha256()
    largest = 0
    async with (
        serve(handle) as server,
        wire.client.stream(Request("GET", server.url())) as stream,
    ):
        async for chunk in stream:
            digest.update(chunk)
            largest = max(largest, stream._call._body._size)
            if chance.random() < 0.3:
                await asyncio.sleep(0.002)
    assert digest.digest() == hashlib.sha256(body).digest()
    assert largest <= (256 + 64) * 1024
    assert wire.audit.only.success


async def test_a_reader_that_stops_holds_the_server_back(transport: CurlTransport) -> None:
    wire = Wire(transport)
    written = 0

    async def flood(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(bytes(65_536))
            await writer.drain()
            written += 65_536

    async with serve(flood) as server:
        async with wire.client.stream(Request("GET", server.url())) as stream:
            await anext(stream)
            before = -1
            async with asyncio.timeout(10):
                while written != before:
                    before = written
                    await asyncio.sleep(0.1)
            assert stream._call._body._size <= (256 + 64) * 1024
        await asyncio.wait_for(server.peer_closed.wait(), 5)


async def test_closing_the_transport_ends_every_call_once() -> None:
    baseline = descriptors()
    with curl() as transport:
        wire = Wire(transport)
        async with serve(silent) as server:
            tasks = [
                asyncio.create_task(wire.client.send(Request("GET", server.url())))
                for _ in range(20)
            ]
            await until(lambda: len(server.requests) >= 20)
            transport.close()
            transport.close()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(one) for one in results} == {RequestCancelled}
            with pytest.raises(TransportFailed) as closed:
                await wire.client.send(Request("GET", server.url()))
            assert closed.value.code == "transport_unusable"
            assert len(server.requests) == 20
    stopped = AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL
    assert [row.action for row in wire.audit.rows] == [stopped] * 20 + [AuditAction.HTTP_CALL]
    await asyncio.sleep(0)
    assert descriptors() <= baseline + 2


async def test_failures_leave_no_descriptor(transport: CurlTransport) -> None:
    wire = Wire(transport, bounds=Bounds(total=5))
    async with serve(silent) as server:
        gone = server.url()
    with pytest.raises(HttpError):
        await wire.client.send(Request("GET", gone))
    baseline = descriptors()
    for _ in range(50):
        with pytest.raises(HttpError):
            await wire.client.send(Request("GET", gone))
    assert descriptors() == baseline


def test_one_transport_serves_loop_after_loop() -> None:
    with curl() as transport:

        async def once() -> bytes:
            wire = Wire(transport)
            async with serve(says(answer(b"x"))) as server:
                return (await wire.client.send(Request("GET", server.url()))).body

        assert [asyncio.run(once()) for _ in range(3)] == [b"x"] * 3
