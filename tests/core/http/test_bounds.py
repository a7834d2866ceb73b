from __future__ import annotations

import asyncio

import pytest

from core.errors import RequestTimeout
from core.http import Bounds, Request, Response
from core.model import AuditAction
from tests.core.http.rig import URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.support.waiting import until

BOUNDS = Bounds(total=100, connect=5, first_byte=20, silence=10)


async def timed_out(task: asyncio.Task[Response], rig: Rig) -> str:
    with pytest.raises(RequestTimeout) as caught:
        await task
    row = rig.audit.only
    assert (row.action, row.success) == (AuditAction.HTTP_CALL, False)
    assert row.message == str(caught.value)
    assert rig.clock.pending == 0
    return caught.value.code


async def test_lookup() -> None:
    rig = Rig(bounds=BOUNDS)
    rig.resolver.hold("api.example.com")
    task = rig.begin()
    await until(lambda: rig.resolver.waiting == 1)
    rig.clock.advance(4.9)
    await asyncio.sleep(0)
    assert not rig.audit.rows
    rig.clock.advance(0.1)
    assert await timed_out(task, rig) == "timeout_lookup"
    assert rig.resolver.waiting == 0


async def test_connect() -> None:
    rig = Rig(bounds=BOUNDS)
    task = rig.begin()
    transfer = await rig.transport.next()
    rig.clock.advance(4.999)
    assert not transfer.aborted
    rig.clock.advance(0.001)
    assert transfer.aborted
    assert await timed_out(task, rig) == "timeout_connect"


async def test_first_byte_may_take_longer_than_silence() -> None:
    rig = Rig(bounds=BOUNDS)
    task = rig.begin()
    transfer = await rig.transport.next()
    transfer.connected()
    rig.clock.advance(19.9)
    assert not transfer.aborted
    rig.clock.advance(0.1)
    assert transfer.aborted
    assert await timed_out(task, rig) == "timeout_first_byte"


async def test_silence() -> None:
    rig = Rig(bounds=BOUNDS)
    task = rig.begin()
    transfer = await rig.transport.next()
    transfer.connected()
    transfer.head(200)
    for _ in range(5):
        rig.clock.advance(9.9)
        transfer.data(b".")
    rig.clock.advance(9.9)
    assert not transfer.aborted
    rig.clock.advance(0.1)
    assert transfer.aborted
    assert await timed_out(task, rig) == "timeout_silence"
    assert rig.audit.only.status == 200


async def test_total_ends_a_trickle() -> None:
    rig = Rig(bounds=BOUNDS)
    task = rig.begin()
    transfer = await rig.transport.next()
    transfer.head(200)
    for _ in range(99):
        rig.clock.advance(1)
        transfer.data(b".")
    assert not transfer.aborted
    rig.clock.advance(1)
    assert transfer.aborted
    assert await timed_out(task, rig) == "timeout_total"


async def test_a_slow_secret_counts_for_the_total() -> None:
    rig = Rig(credential=FakeCredential(), bounds=BOUNDS)
    rig.vault.hold()
    task = rig.begin()
    await rig.vault.reading.wait()
    rig.clock.advance(100)
    assert await timed_out(task, rig) == "timeout_total"
    assert rig.transport.transfers == []


async def test_without_bounds_nothing_runs_out() -> None:
    rig = Rig(bounds=Bounds(total=None, connect=None, first_byte=None, silence=None))
    task = rig.begin()
    transfer = await rig.transport.next()
    rig.clock.advance(1e6)
    transfer.connected()
    transfer.head(200)
    rig.clock.advance(1e6)
    transfer.data(b"late")
    transfer.done()
    assert (await task).body == b"late"
    assert (transfer.belt.connect_ms, transfer.belt.total_ms) == (0, 0)


async def test_the_transports_bounds_lie_one_second_above_ours() -> None:
    rig = Rig(bounds=BOUNDS)
    rig.resolver.hold("api.example.com")
    task = rig.begin()
    await until(lambda: rig.resolver.waiting == 1)
    rig.clock.advance(2)
    rig.resolver.release("api.example.com")
    transfer = await rig.transport.next()
    assert (transfer.belt.connect_ms, transfer.belt.total_ms) == (6_000, 99_000)
    transfer.answer(200)
    await task


async def test_a_signal_extends_no_bound() -> None:
    rig = Rig(bounds=BOUNDS)
    task = asyncio.create_task(rig.client.send(Request("GET", URL)))
    transfer = await rig.transport.next()
    rig.clock.advance(3)
    rig.signal.set()
    rig.clock.advance(2)
    assert transfer.aborted
    assert await timed_out(task, rig) == "timeout_connect"


async def test_a_reader_that_pauses_the_stream_is_no_silence() -> None:
    rig = Rig(bounds=BOUNDS, reply=lambda transfer: transfer.head(200))
    big = bytes(300 * 1024)
    async with rig.client.stream(Request("GET", URL)) as stream:
        transfer = rig.transport.transfers[0]
        assert transfer.data(big) is False
        rig.clock.advance(50)
        assert not transfer.aborted
        assert await anext(stream) == big
        assert transfer.resumed == 1
        rig.clock.advance(9.9)
        assert not transfer.aborted
        rig.clock.advance(0.1)
        assert transfer.aborted
        with pytest.raises(RequestTimeout):
            await anext(stream)
