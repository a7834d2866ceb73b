from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from core.errors import RequestCancelled, UsageError
from core.http import CancelSignal, Request
from core.model import AuditAction
from core.vault import Credential
from tests.core.http.rig import URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.fakes.transport import ScriptedTransport
from tests.support.waiting import until

GET = Request("GET", URL)
UNSENT = AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND
EXPOSED = AuditAction.HTTP_CALL_CANCELLED
HARMLESS = AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL


async def cancelled(task: asyncio.Task[object]) -> RequestCancelled:
    with pytest.raises(RequestCancelled) as caught:
        await task
    return caught.value


async def test_a_signal_that_is_up_reads_nothing_and_sends_nothing() -> None:
    rig = Rig(credential=FakeCredential())
    rig.signal.set()
    error = await cancelled(rig.begin())
    assert (error.code, error.before_send) == ("cancelled_before_send", True)
    assert (rig.resolver.asked, rig.vault.reads, rig.transport.transfers) == ([], [], [])
    row = rig.audit.only
    assert (row.action, row.success, row.status) == (UNSENT, False, 0)
    assert row.message == "Cancelled before anything was sent; no secret had been read"
    assert rig.clock.pending == 0


async def test_a_refusal_comes_before_the_signal() -> None:
    rig = Rig()
    rig.signal.set()
    with pytest.raises(Exception, match="scheme"):
        await rig.client.send_cancellable(Request("GET", "ftp://x.com/"), rig.signal)
    assert rig.audit.only.action is AuditAction.HTTP_CALL


async def test_while_resolving() -> None:
    rig = Rig(credential=FakeCredential())
    rig.resolver.hold("api.example.com")
    task = rig.begin()
    await until(lambda: rig.resolver.waiting == 1)
    rig.signal.set()
    error = await cancelled(task)
    assert error.before_send
    assert rig.resolver.waiting == 0
    assert rig.vault.reads == []
    assert rig.audit.only.action is UNSENT


async def test_while_reading_the_secret() -> None:
    rig = Rig(credential=FakeCredential())
    rig.vault.hold()
    task = rig.begin()
    await rig.vault.reading.wait()
    rig.signal.set()
    error = await cancelled(task)
    assert error.before_send
    assert rig.transport.transfers == []
    row = rig.audit.only
    assert row.action is UNSENT
    assert row.message == "Cancelled before anything was sent; a secret had been read"
    assert not rig.context.calls[0].exposed


async def test_raised_during_the_secret_read_nothing_is_handed_over() -> None:
    rig = Rig(credential=FakeCredential())
    rig.vault.on_read = rig.signal.set
    await cancelled(rig.begin())
    assert rig.transport.transfers == []


class LateSignal:
    """A signal from another thread whose callback has not come over yet."""

    def __init__(self) -> None:
        self.up = False

    def is_set(self) -> bool:
        return self.up

    def subscribe(self, _callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


async def test_a_flag_that_is_up_stops_the_send_before_its_callback_arrives() -> None:
    rig = Rig(credential=FakeCredential())
    signal = LateSignal()
    rig.vault.on_read = lambda: setattr(signal, "up", True)
    with pytest.raises(RequestCancelled):
        await rig.client.send_cancellable(GET, signal)
    assert rig.transport.transfers == []
    assert rig.audit.only.action is UNSENT


@pytest.mark.parametrize("phase", ["connecting", "waiting", "mid-body"])
@pytest.mark.parametrize(("credential", "action"), [(None, HARMLESS), (FakeCredential(), EXPOSED)])
async def test_in_flight(phase: str, credential: Credential | None, action: AuditAction) -> None:
    rig = Rig(credential=credential)
    task = rig.begin()
    transfer = await rig.transport.next()
    if phase != "connecting":
        transfer.connected()
    if phase == "mid-body":
        transfer.head(200)
        transfer.data(b"part")
    rig.signal.set()
    assert transfer.aborted
    error = await cancelled(task)
    assert (error.code, error.before_send) == ("cancelled_in_flight", False)
    row = rig.audit.only
    assert (row.action, row.success) == (action, False)
    assert row.status == (200 if phase == "mid-body" else 0)
    assert rig.context.calls[0].exposed == (credential is not None)
    assert rig.clock.pending == 0


async def test_a_signal_after_the_end_changes_nothing() -> None:
    rig = Rig()
    task = rig.begin()
    transfer = await rig.transport.next()
    transfer.answer(200, b"ok")
    rig.signal.set()
    assert (await task).body == b"ok"
    assert rig.audit.only.action is AuditAction.HTTP_CALL


async def test_a_signal_before_the_end_wins() -> None:
    rig = Rig()
    task = rig.begin()
    transfer = await rig.transport.next()
    transfer.head(200)
    rig.signal.set()
    with pytest.raises(AssertionError, match="over"):
        transfer.done()
    await cancelled(task)


async def test_from_another_thread() -> None:
    rig = Rig(credential=FakeCredential())
    task = rig.begin()
    transfer = await rig.transport.next()
    thread = threading.Thread(target=rig.signal.set)
    thread.start()
    thread.join()
    await cancelled(task)
    assert transfer.aborted
    assert rig.audit.only.action is EXPOSED


async def test_one_signal_ends_many_calls_in_one_go() -> None:
    rig = Rig()
    tasks = [rig.begin() for _ in range(20)]
    transfers = [await rig.transport.next() for _ in tasks]
    rig.signal.set()
    assert all(transfer.aborted for transfer in transfers)
    for task in tasks:
        await cancelled(task)
    assert [row.action for row in rig.audit.rows] == [HARMLESS] * 20


async def test_a_call_that_ended_has_left_the_signal() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200))
    await rig.client.send_cancellable(GET, rig.signal)
    assert rig.signal._subscribers == {}


class BrokenSignal(CancelSignal):
    def is_set(self) -> bool:
        raise UsageError("a broken signal")


async def test_a_signal_that_raises_leaves_a_failed_row_and_its_own_exception() -> None:
    rig = Rig(credential=FakeCredential())
    with pytest.raises(UsageError, match="broken"):
        await rig.client.send_cancellable(GET, BrokenSignal())
    row = rig.audit.only
    assert (row.action, row.success) == (AuditAction.HTTP_CALL, False)
    assert row.message == "The call was stopped by an unexpected error"
    assert rig.transport.transfers == []


@pytest.mark.parametrize("phase", ["resolving", "reading", "waiting", "mid-body"])
async def test_cancelling_the_task_leaves_the_row_a_signal_leaves(phase: str) -> None:
    rig = Rig(credential=FakeCredential())
    if phase == "resolving":
        rig.resolver.hold("api.example.com")
    if phase == "reading":
        rig.vault.hold()
    task = rig.begin()
    if phase == "resolving":
        await until(lambda: rig.resolver.waiting == 1)
    elif phase == "reading":
        await rig.vault.reading.wait()
    else:
        transfer = await rig.transport.next()
        transfer.connected()
        if phase == "mid-body":
            transfer.head(200)
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    in_flight = phase in {"waiting", "mid-body"}
    assert rig.audit.only.action is (EXPOSED if in_flight else UNSENT)
    assert all(one.aborted for one in rig.transport.transfers)
    assert len(rig.transport.transfers) == int(in_flight)


async def test_cancelling_again_and_again_cannot_lose_the_row() -> None:
    rig = Rig()
    rig.audit.hold()
    task = rig.begin()
    await rig.transport.next()
    for _ in range(5):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    await rig.audit.appending.wait()
    assert not task.done()
    rig.audit.release()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rig.audit.only.action is HARMLESS


async def test_a_cancel_while_the_row_is_written_is_raised_after_the_row_landed() -> None:
    rig = Rig()
    rig.audit.hold()
    task = rig.begin()
    (await rig.transport.next()).answer(200)
    await rig.audit.appending.wait()
    task.cancel()
    await asyncio.sleep(0)
    rig.audit.release()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (rig.audit.only.action, rig.audit.only.success) == (AuditAction.HTTP_CALL, True)


async def test_a_timeout_around_a_call_works_as_usual() -> None:
    rig = Rig()

    async def run_out(bound: asyncio.Timeout) -> None:
        await rig.transport.next()
        bound.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as bound:
            running_out = asyncio.create_task(run_out(bound))
            await rig.client.send(GET)
    await running_out
    assert rig.audit.only.action is HARMLESS


async def test_a_row_cancelled_before_its_first_step_is_begun_again() -> None:
    rig = Rig(credential=FakeCredential())
    task = rig.begin()
    await rig.transport.next()
    rig.signal.set()
    for other in asyncio.all_tasks() - {asyncio.current_task()}:  # as a loop shutting down does
        other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rig.audit.only.action is EXPOSED


async def test_the_same_while_its_call_already_waits_for_it() -> None:
    rig = Rig()
    task = rig.begin(Request("GET", "ftp://x.com/"))
    await asyncio.sleep(0)
    for other in asyncio.all_tasks() - {asyncio.current_task()}:
        other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rig.audit.only.action is AuditAction.HTTP_CALL


async def test_a_transport_that_cannot_abort_completes_and_honours_an_early_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ScriptedTransport, "supports_abort", False)
    rig = Rig(credential=FakeCredential())
    clone = rig.client.with_timeout(5)
    assert not clone.supports_cancellation
    task = asyncio.create_task(clone.send_cancellable(GET, rig.signal))
    transfer = await rig.transport.next()
    rig.signal.set()
    assert not transfer.aborted
    transfer.answer(200, b"done")
    assert (await task).body == b"done"
    with pytest.raises(RequestCancelled):
        await clone.send_cancellable(GET, rig.signal)
    assert [row.action for row in rig.audit.rows] == [AuditAction.HTTP_CALL, UNSENT]
