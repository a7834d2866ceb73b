"""A log that takes no rows: before the send, and after it."""

from __future__ import annotations

import asyncio

import pytest

from core.errors import AuditUnavailable, RequestCancelled, RequestRefused
from core.http import Request
from core.model import AuditAction
from tests.core.http.rig import URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.support.waiting import until

GET = Request("GET", URL)


async def test_an_intent_is_durable_before_anything_is_handed_over() -> None:
    rig = Rig(credential=FakeCredential())
    rig.audit.hold_intents()
    task = rig.begin()
    await rig.audit.beginning.wait()
    assert (rig.vault.reads, rig.transport.transfers) == (["key"], [])
    rig.audit.release()
    transfer = await rig.transport.next()
    (intent,) = rig.audit.intents.values()
    assert (intent.action, intent.success) == (AuditAction.HTTP_CALL_INTERRUPTED, False)
    assert (intent.call_id, intent.credential, intent.host) == ("call-1", "key", "api.example.com")
    assert (intent.run_id, intent.step, intent.actor) == ("run-9", "s3", "tester")
    transfer.answer(200)
    await task
    assert rig.audit.intents == {}


async def test_a_refused_call_needs_no_intent() -> None:
    rig = Rig()
    with pytest.raises(RequestRefused):
        await rig.client.send(Request("GET", "ftp://x.com/"))
    assert rig.audit.begun == []


async def test_nothing_is_sent_without_an_intent() -> None:
    rig = Rig(credential=FakeCredential())
    rig.audit.down = True
    with pytest.raises(AuditUnavailable):
        await rig.client.send(GET)
    assert rig.transport.transfers == []
    assert rig.audit.only.message == "The audit log took no rows; nothing was sent"


async def test_a_stop_while_the_intent_is_written_sends_nothing() -> None:
    rig = Rig(credential=FakeCredential())
    rig.audit.hold_intents()
    task = rig.begin()
    await rig.audit.beginning.wait()
    rig.signal.set()
    with pytest.raises(RequestCancelled) as cancelled:
        await task
    assert cancelled.value.before_send
    assert rig.audit.only.action is AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND
    assert rig.audit.only.message is not None
    assert "had been read" in rig.audit.only.message
    assert rig.transport.transfers == []


async def test_an_answer_is_kept_and_its_row_follows_when_the_log_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200, b"paid for"))
    rig.audit.broken = True
    response = await rig.client.send(GET)
    assert response.body == b"paid for"
    assert "The audit row of call call-1 waits" in caplog.text
    assert rig.audit.rows == []
    rig.clock.advance(1.01)
    await until(lambda: rig.clock.pending > 0)
    assert rig.audit.rows == []
    rig.audit.broken = False
    rig.clock.advance(1.01)
    await until(lambda: rig.audit.rows != [])
    assert (rig.audit.only.call_id, rig.audit.only.success) == ("call-1", True)
    assert rig.audit.intents == {}
    await rig.client.drain()


async def test_late_rows_are_offered_once_more_when_the_client_is_drained() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200))
    rig.audit.broken = True
    await rig.client.send(GET)
    await rig.client.send(GET)
    rig.audit.broken = False
    await rig.client.drain()
    assert [row.call_id for row in rig.audit.rows] == ["call-1", "call-2"]


async def test_rows_that_never_landed_are_told_and_their_intents_stay(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200))
    rig.audit.broken = True
    await rig.client.send(GET)
    await rig.client.drain()
    assert "1 calls end without their audit row" in caplog.text
    assert list(rig.audit.intents) == ["call-1"]


async def test_what_a_call_raises_stays_what_it_is() -> None:
    rig = Rig()
    rig.audit.broken = True
    with pytest.raises(RequestRefused):
        await rig.client.send(Request("GET", "ftp://x.com/"))
    task = rig.begin()
    await rig.transport.next()
    rig.signal.set()
    with pytest.raises(RequestCancelled):
        await task
    rig.audit.broken = False
    await rig.client.drain()
    cancelled = AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL
    assert [row.action for row in rig.audit.rows] == [AuditAction.HTTP_CALL, cancelled]


async def test_a_cancelled_task_stays_cancelled() -> None:
    rig = Rig()
    rig.audit.broken = True
    task = rig.begin()
    await rig.transport.next()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    rig.audit.broken = False
    await rig.client.drain()
    assert rig.audit.only.action is AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL


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
