from __future__ import annotations

import asyncio
import gc

import pytest

from core.errors import RequestCancelled, TransportFailed
from core.http import Fault, Request, ResponseStream
from core.model import AuditAction
from core.vault import Credential
from tests.core.http.rig import URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.support.waiting import until

GET = Request("GET", URL)
KIB = 1024


def opened(credential: Credential | None = None) -> Rig:
    return Rig(credential=credential, reply=lambda transfer: transfer.head(200, (("A", "b"),)))


async def test_the_head_comes_first_and_the_body_as_it_arrives() -> None:
    rig = opened()
    async with rig.client.stream(GET) as stream:
        assert (stream.status, stream.header("a"), stream.call_id) == (200, "b", "call-1")
        transfer = rig.transport.transfers[0]
        transfer.data(b"one")
        assert await anext(stream) == b"one"
        transfer.data(b"two")
        transfer.data(b"three")
        assert await anext(stream) == b"twothree"
        assert rig.audit.rows == []
        transfer.data(b"four")
        transfer.done()
        assert [chunk async for chunk in stream] == [b"four"]
    row = rig.audit.only
    assert (row.action, row.success, row.status) == (AuditAction.HTTP_CALL, True, 200)


async def test_the_row_is_begun_when_the_body_ends_and_not_when_the_block_does() -> None:
    rig = opened()
    async with rig.client.stream(GET):
        rig.transport.transfers[0].done()
        await until(lambda: len(rig.audit.rows) == 1)


async def test_an_empty_body() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(204))
    async with rig.client.stream(GET) as stream:
        assert [chunk async for chunk in stream] == []
    assert rig.audit.only.status == 204


@pytest.mark.parametrize(
    ("credential", "action"),
    [
        (None, AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL),
        (FakeCredential(), AuditAction.HTTP_CALL_CANCELLED),
    ],
)
async def test_closing_early_aborts(credential: Credential | None, action: AuditAction) -> None:
    rig = opened(credential)
    async with rig.client.stream(GET) as stream:
        rig.transport.transfers[0].data(b"some")
        await anext(stream)
    assert rig.transport.transfers[0].aborted
    assert (rig.audit.only.action, rig.audit.only.status) == (action, 200)
    assert rig.audit.only.message is not None
    assert rig.audit.only.message.startswith("Closed by its reader")


async def test_an_error_of_the_reader_closes_and_passes_as_it_is() -> None:
    rig = opened()
    mine = KeyError("mine")
    with pytest.raises(KeyError) as caught:
        async with rig.client.stream(GET):
            raise mine
    assert caught.value is mine
    assert rig.transport.transfers[0].aborted
    assert rig.audit.only.action is AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL


async def test_leaving_after_the_whole_body_arrived_is_a_success() -> None:
    rig = opened()
    async with rig.client.stream(GET):
        rig.transport.transfers[0].data(b"unread")
        rig.transport.transfers[0].done()
    assert rig.audit.only.success


async def test_a_dropped_stream_is_aborted_and_accounted_for() -> None:
    rig = opened(FakeCredential())

    async def drop() -> None:
        await rig.client.stream(GET).__aenter__()

    await drop()
    gc.collect()
    await until(lambda: len(rig.audit.rows) == 1)
    assert rig.transport.transfers[0].aborted
    assert rig.audit.only.action is AuditAction.HTTP_CALL_CANCELLED


async def test_a_signal_mid_body_delivers_what_had_arrived_and_then_raises() -> None:
    rig = opened(FakeCredential())
    async with rig.client.stream(GET, rig.signal) as stream:
        transfer = rig.transport.transfers[0]
        transfer.data(b"kept")
        rig.signal.set()
        assert transfer.aborted
        assert await anext(stream) == b"kept"
        with pytest.raises(RequestCancelled) as caught:
            await anext(stream)
    assert not caught.value.before_send
    assert rig.audit.only.action is AuditAction.HTTP_CALL_CANCELLED


async def test_a_signal_before_the_head_raises_on_entering() -> None:
    rig = Rig()

    async def read() -> None:
        async with rig.client.stream(GET, rig.signal):
            raise AssertionError("entered")

    task = asyncio.create_task(read())
    transfer = await rig.transport.next()
    rig.signal.set()
    assert transfer.aborted
    with pytest.raises(RequestCancelled):
        await task


async def test_cancelling_the_reading_task() -> None:
    rig = opened(FakeCredential())

    async def read() -> None:
        async with rig.client.stream(GET) as stream:
            async for _ in stream:
                pass

    task = asyncio.create_task(read())
    transfer = await rig.transport.next()
    await asyncio.sleep(0)  # the head is played
    await asyncio.sleep(0)  # the reader waits for the body
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert transfer.aborted
    row = rig.audit.only
    assert row.action is AuditAction.HTTP_CALL_CANCELLED
    assert row.message is not None
    assert row.message.startswith("Cancelled in flight")


async def test_a_cut_body_raises_after_what_had_arrived() -> None:
    rig = opened()
    async with rig.client.stream(GET) as stream:
        transfer = rig.transport.transfers[0]
        transfer.data(b"half")
        transfer.fail(Fault.LOST, 18)
        assert await anext(stream) == b"half"
        for _ in range(2):
            with pytest.raises(TransportFailed) as caught:
                await anext(stream)
        assert caught.value.code == "connection_lost"
    assert (rig.audit.only.success, rig.audit.only.status) == (False, 200)


async def test_a_slow_reader_pauses_the_transfer_and_a_fast_one_lets_it_go_on() -> None:
    rig = opened()
    async with rig.client.stream(GET) as stream:
        transfer = rig.transport.transfers[0]
        assert all(transfer.data(bytes(64 * KIB)) for _ in range(3))
        assert transfer.data(bytes(64 * KIB)) is False
        taken = 0
        while not transfer.resumed:
            taken += len(await anext(stream))
        assert taken == 192 * KIB
        assert transfer.data(b"more") is True
        transfer.done()
        rest = [chunk async for chunk in stream]
    assert taken + sum(map(len, rest)) == 256 * KIB + 4
    assert transfer.resumed == 1


async def test_a_stream_has_no_size_limit() -> None:
    rig = opened()
    total = 0
    async with rig.client.stream(GET) as stream:
        transfer = rig.transport.transfers[0]
        for _ in range(20):
            transfer.data(bytes(1024 * KIB))
            total += len(await anext(stream))
        transfer.done()
    assert total == 20 * 1024 * KIB
    assert rig.audit.only.success


async def test_two_readers_at_once_are_an_error() -> None:
    rig = opened()

    async def read(stream: ResponseStream) -> bytes:
        return await anext(stream)

    async with rig.client.stream(GET) as stream:
        first = asyncio.create_task(read(stream))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="one reader"):
            await read(stream)
        rig.transport.transfers[0].data(b"x")
        assert await first == b"x"
