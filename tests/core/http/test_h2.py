"""HTTP/2: an abort resets one stream, and the connection serves the next call."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Iterator

import pytest

from core.errors import RequestCancelled, RequestTimeout, TransportFailed
from core.http import Bounds, CancelSignal, CurlTransport, Request
from core.model import AuditAction
from tests.core.http.h2_server import H2Seen, H2Stream, serve_h2
from tests.core.http.secure import ALLOW, HOST, Authority, names
from tests.core.http.wire import Wire, curl, descriptors
from tests.fakes.http_ports import FakeCredential


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def transport(authority: Authority) -> Iterator[CurlTransport]:
    with curl(authority.cafile) as made:
        yield made


def wired(transport: CurlTransport, bounds: Bounds | None = None) -> Wire:
    return Wire(
        transport, allow=ALLOW, resolver=names(), credential=FakeCredential(), bounds=bounds
    )


def get(seen: H2Seen) -> Request:
    return Request("GET", f"https://{HOST}:{seen.port}/")


async def whole(stream: H2Stream) -> None:
    stream.head()
    await stream.body(b"whole")


def stall_first(count: int = 1) -> object:
    def answer(stream: H2Stream, order: int) -> object:
        return None if order < count else whole(stream)

    return answer


async def test_an_abort_resets_its_stream_and_the_connection_stays(
    transport: CurlTransport, authority: Authority
) -> None:
    wire, signal = wired(transport), CancelSignal()
    async with serve_h2(stall_first(), authority.context()) as seen:  # type: ignore[arg-type]
        task = asyncio.create_task(wire.client.send_cancellable(get(seen), signal))
        await seen.until(lambda: len(seen.streams) == 1)
        before = descriptors()
        signal.set()
        with pytest.raises(RequestCancelled):
            await task
        await seen.until(lambda: len(seen.resets) == 1)
        assert descriptors() == before
        assert (await wire.client.send(get(seen))).body == b"whole"
        assert (seen.connections, seen.closed, len(seen.resets)) == (1, 0, 1)
    actions = [row.action for row in wire.audit.rows]
    assert actions == [AuditAction.HTTP_CALL_CANCELLED, AuditAction.HTTP_CALL]


async def test_aborts_leave_the_other_streams_of_the_connection_alone(
    transport: CurlTransport, authority: Authority
) -> None:
    wire = wired(transport)
    signals = [CancelSignal() for _ in range(50)]

    def answer(stream: H2Stream, order: int) -> object:
        return whole(stream) if order == 0 else None

    async with serve_h2(answer, authority.context()) as seen:
        await wire.client.send(get(seen))  # the connection is there, and all calls share it
        tasks = [
            asyncio.create_task(wire.client.send_cancellable(get(seen), one)) for one in signals
        ]
        await seen.until(lambda: len(seen.streams) == 51)
        for signal in signals[:-1]:
            signal.set()
        await seen.until(lambda: len(seen.resets) == 49)
        reset = {id(stream) for stream, _ in seen.resets}
        (kept,) = (one for one in seen.streams[1:] if id(one) not in reset)
        await whole(kept)
        assert (await tasks[-1]).body == b"whole"
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(one, RequestCancelled) for one in results) == 49
        assert (seen.connections, seen.closed) == (1, 0)
    assert len(wire.audit.rows) == 51


@pytest.mark.parametrize("how", ["cancel", "leave", "bound"])
async def test_every_way_to_stop_resets_the_stream(
    transport: CurlTransport, authority: Authority, how: str
) -> None:
    wire = wired(transport, Bounds(silence=0.2 if how == "bound" else 5))

    async def start(stream: H2Stream) -> None:
        stream.head()
        await stream.body(b"first", last=False)

    def answer(stream: H2Stream, order: int) -> object:
        return whole(stream) if order != 1 else start(stream)

    async def read(seen: H2Seen, first: asyncio.Event) -> None:
        async with wire.client.stream(get(seen)) as stream:
            assert await anext(stream) == b"first"
            first.set()
            if how != "leave":
                await anext(stream)

    async with serve_h2(answer, authority.context()) as seen:
        await wire.client.send(get(seen))
        first = asyncio.Event()
        task = asyncio.create_task(read(seen, first))
        await asyncio.wait_for(first.wait(), 5)
        if how == "cancel":
            task.cancel()
        result = (await asyncio.gather(task, return_exceptions=True))[0]
        expected: dict[str, type] = {
            "cancel": asyncio.CancelledError,
            "leave": type(None),
            "bound": RequestTimeout,
        }
        assert isinstance(result, expected[how])
        await seen.until(lambda: len(seen.resets) == 1)
        assert (await wire.client.send(get(seen))).body == b"whole"
        assert (seen.connections, seen.closed) == (1, 0)
    assert len(wire.audit.rows) == 3


async def test_bug_row_09_a_server_that_has_had_enough_of_resets_is_a_lost_connection(
    transport: CurlTransport, authority: Authority
) -> None:
    wire = wired(transport)

    def answer(stream: H2Stream, order: int) -> object:
        if order == 5:
            stream.connection.go_away(11)  # ENHANCE_YOUR_CALM
        return whole(stream) if order > 5 else None

    async with serve_h2(answer, authority.context()) as seen:
        for number in range(5):
            signal = CancelSignal()
            task = asyncio.create_task(wire.client.send_cancellable(get(seen), signal))
            await seen.until(lambda number=number: len(seen.streams) == number + 1)  # type: ignore[misc]
            signal.set()
            with pytest.raises(RequestCancelled):
                await task
        with pytest.raises(TransportFailed) as failed:
            await wire.client.send(get(seen))
        assert failed.value.code == "connection_lost"
        assert len(seen.streams) == 6  # it was not sent again
        assert (await wire.client.send(get(seen))).body == b"whole"
        assert seen.connections == 2
    assert len(wire.audit.rows) == 7


@pytest.mark.parametrize("code", [0, 1, 2, 7, 8, 11])
async def test_a_reset_by_the_server_is_a_lost_connection_and_one_request(
    transport: CurlTransport, authority: Authority, code: int
) -> None:
    wire = wired(transport)

    def answer(stream: H2Stream, order: int) -> object:
        if order != 1:
            return whole(stream)
        stream.fail(code)
        return None

    async with serve_h2(answer, authority.context()) as seen:
        await wire.client.send(get(seen))
        with pytest.raises(TransportFailed) as failed:
            await wire.client.send(get(seen))
        assert failed.value.code == "connection_lost"
        assert len(seen.streams) == 2
    assert [row.success for row in wire.audit.rows] == [True, False]


async def test_bug_row_11_a_paused_body_arrives_whole(
    transport: CurlTransport, authority: Authority
) -> None:
    wire = wired(transport)
    chance = random.Random(11)
    body = chance.randbytes(12_000_000)

    async def answer(stream: H2Stream) -> None:
        stream.head()
        await stream.body(body)

    digest, largest = hashlib.sha256(), 0
    async with (
        serve_h2(lambda stream, _: answer(stream), authority.context()) as seen,
        wire.client.stream(get(seen)) as stream,
    ):
        async for chunk in stream:
            digest.update(chunk)
            largest = max(largest, stream._call._body._size)
            if chance.random() < 0.2:
                await asyncio.sleep(0.002)
    assert digest.digest() == hashlib.sha256(body).digest()
    assert largest <= (256 + 64) * 1024
    assert wire.audit.only.success


async def test_bug_row_12_a_reader_that_stops_bounds_what_is_kept(
    transport: CurlTransport, authority: Authority
) -> None:
    wire = wired(transport)
    sent = 0

    async def flood(stream: H2Stream) -> None:
        nonlocal sent
        stream.head()
        while True:
            await stream.body(bytes(16_384), last=False)
            sent += 16_384

    async with serve_h2(lambda stream, _: flood(stream), authority.context()) as seen:
        async with wire.client.stream(get(seen)) as stream:
            await anext(stream)
            before = -1
            async with asyncio.timeout(10):
                while sent != before:
                    before = sent
                    await asyncio.sleep(0.1)
            assert stream._call._body._size <= (256 + 64) * 1024
            assert sent < 32 * 2**20
        await seen.until(lambda: len(seen.resets) == 1)


async def test_a_thousand_aborts_on_one_connection(
    transport: CurlTransport, authority: Authority, soak: bool
) -> None:
    wire, chance = wired(transport), random.Random(2)
    calls = 1_000 if soak else 200
    gate = asyncio.Semaphore(30)

    async def late(stream: H2Stream) -> None:
        await asyncio.sleep(chance.random() * 0.02)
        await whole(stream)

    async def one() -> bool:
        signal = CancelSignal()
        async with gate:
            asyncio.get_running_loop().call_later(chance.random() * 0.06, signal.set)
            try:
                return (await wire.client.send_cancellable(get(seen), signal)).body == b"whole"
            except RequestCancelled:
                return False

    async with serve_h2(lambda stream, _: late(stream), authority.context()) as seen:
        await wire.client.send(get(seen))
        results = await asyncio.gather(*(one() for _ in range(calls)))
        assert (await wire.client.send(get(seen))).body == b"whole"
        assert (seen.connections, seen.closed) == (1, 0)
    assert 0 < sum(results) < calls
    assert len(wire.audit.rows) == calls + 2
