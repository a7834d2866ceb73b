from __future__ import annotations

import asyncio

import pytest

from core.errors import AuditUnavailable, RequestCancelled, RequestRefused
from core.http import Request, UnrecordedCall
from core.model import AuditAction
from tests.core.http.rig import URL, Rig

GET = Request("GET", URL)


async def test_the_response_is_kept_when_its_row_cannot_be_written() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200, b"paid for"))
    rig.audit.broken = True
    with pytest.raises(AuditUnavailable) as caught:
        await rig.client.send(GET)
    assert isinstance(caught.value, UnrecordedCall)
    assert caught.value.code == "call_unrecorded"
    assert caught.value.response is not None
    assert caught.value.response.body == b"paid for"
    assert rig.context.calls[0].action is AuditAction.HTTP_CALL


async def test_what_the_call_would_have_raised_is_the_cause() -> None:
    rig = Rig()
    rig.audit.broken = True
    with pytest.raises(UnrecordedCall) as caught:
        await rig.client.send(Request("GET", "ftp://x.com/"))
    assert isinstance(caught.value.__cause__, RequestRefused)
    assert caught.value.response is None


async def test_a_cancelled_call_without_a_row_is_loud_too() -> None:
    rig = Rig()
    rig.audit.broken = True
    task = rig.begin()
    await rig.transport.next()
    rig.signal.set()
    with pytest.raises(UnrecordedCall) as caught:
        await task
    assert isinstance(caught.value.__cause__, RequestCancelled)
    assert rig.context.calls[0].action is AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL


async def test_a_cancelled_task_stays_cancelled_and_the_loss_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig()
    rig.audit.broken = True
    task = rig.begin()
    await rig.transport.next()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "The audit row of call call-1 was not written" in caplog.text


async def test_a_stream_whose_row_is_lost_raises_at_the_end_of_its_block() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200, b"x"))
    rig.audit.broken = True
    chunks: list[bytes] = []
    with pytest.raises(UnrecordedCall):
        async with rig.client.stream(GET) as stream:
            chunks += [chunk async for chunk in stream]
    assert chunks == [b"x"]


async def test_drain_waits_for_rows_under_way() -> None:
    rig = Rig()
    rig.audit.hold()
    task = rig.begin()
    (await rig.transport.next()).answer(200)
    await rig.audit.appending.wait()
    draining = asyncio.create_task(rig.client.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    rig.audit.release()
    await draining
    assert len(rig.audit.rows) == 1
    await task
