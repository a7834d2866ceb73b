"""A transport that cannot abort: the client degrades, says so, and is never swapped."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from core.errors import RequestCancelled, RequestTimeout
from core.http import Bounds, CallContext, Request, VaultHttpClient
from core.model import AuditAction
from tests.core.http.rig import URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.fakes.transport import ScriptedTransfer, ScriptedTransport
from tests.support.waiting import until

GET = Request("GET", URL)
CALL = AuditAction.HTTP_CALL
UNSENT = AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND
EXPOSED = AuditAction.HTTP_CALL_CANCELLED

CLONES: dict[str, Callable[[VaultHttpClient], VaultHttpClient]] = {
    "with_allow": lambda client: client.with_allow(("api.example.com",)),
    "with_bounds": lambda client: client.with_bounds(Bounds(connect=1)),
    "with_context": lambda client: client.with_context(CallContext(actor="other")),
    "with_credential": lambda client: client.with_credential(FakeCredential()),
    "with_run_id_to": lambda client: client.with_run_id_to("127.0.0.1:1"),
    "with_timeout": lambda client: client.with_timeout(5),
}


class DeafTransfer(ScriptedTransfer):
    """Goes on after ``abort``, as one that cannot be stopped does."""

    def _check(self) -> None:
        if self.ended:
            raise AssertionError("the transfer is over")


class ForeignTransport(ScriptedTransport):
    """Somebody else's: what it has begun it does not stop."""

    supports_abort = False

    def start(self, *given: Any) -> ScriptedTransfer:
        transfer = DeafTransfer(*given)
        self.transfers.append(transfer)
        self._news.set()
        return transfer


class Foreign(Rig):
    """A rig whose client was given a foreign transport."""

    def __init__(self, **options: Any) -> None:
        super().__init__(credential=FakeCredential(), **options)
        self.transport = ForeignTransport()
        wiring = {
            "resolver": self.resolver,
            "audit": self.audit,
            "secrets": self.vault,
            "clock": self.clock,
        }
        self.client = VaultHttpClient(
            transport=self.transport,
            policy=self.client._wiring.policy,
            ids=self.client._wiring.ids,
            credential=FakeCredential(),
            bounds=options.get("bounds"),
            **wiring,  # type: ignore[arg-type]
        )


def test_every_clone_is_tried_here() -> None:
    methods = {name for name in dir(VaultHttpClient) if name.startswith("with_")}
    assert methods == set(CLONES)


@pytest.mark.parametrize("name", CLONES)
async def test_no_clone_swaps_the_transport(name: str) -> None:
    rig = Foreign()
    clone = CLONES[name](rig.client)
    assert (rig.client.supports_cancellation, clone.supports_cancellation) == (False, False)
    task = asyncio.create_task(clone.send_cancellable(GET, rig.signal))
    transfer = await rig.transport.next()
    rig.signal.set()
    assert not transfer.aborted
    transfer.answer(200, b"done")
    assert (await task).body == b"done"
    assert (rig.audit.only.action, rig.audit.only.success) == (CALL, True)


@pytest.mark.parametrize("name", CLONES)
async def test_a_clone_of_a_client_that_can_abort_can_too(name: str) -> None:
    rig = Rig(credential=FakeCredential())
    clone = CLONES[name](rig.client)
    assert clone.supports_cancellation
    task = asyncio.create_task(clone.send_cancellable(GET, rig.signal))
    transfer = await rig.transport.next()
    rig.signal.set()
    assert transfer.aborted
    with pytest.raises(RequestCancelled):
        await task


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_signal_before_the_send_is_honoured(streaming: bool) -> None:
    rig = Foreign()
    rig.signal.set()
    with pytest.raises(RequestCancelled) as stopped:
        if streaming:
            async with rig.client.stream(GET, rig.signal):
                pass
        else:
            await rig.client.send_cancellable(GET, rig.signal)
    assert (stopped.value.code, stopped.value.before_send) == ("cancelled_before_send", True)
    assert (rig.vault.reads, rig.transport.transfers) == ([], [])
    assert (rig.audit.only.action, rig.audit.only.status) == (UNSENT, 0)


@pytest.mark.parametrize("stage", ["lookup", "secret"])
async def test_so_is_one_on_the_way_to_the_send(stage: str) -> None:
    rig = Foreign()
    if stage == "lookup":
        rig.resolver.hold("api.example.com")
    else:
        rig.vault.hold()
    task = rig.begin(GET)
    await until(lambda: rig.resolver.waiting == 1 or rig.vault.reading.is_set())
    rig.signal.set()
    with pytest.raises(RequestCancelled):
        await task
    assert rig.transport.transfers == []
    assert rig.audit.only.action is UNSENT


async def test_a_stream_goes_on_to_its_end() -> None:
    rig = Foreign()
    opened = rig.client.stream(GET, rig.signal)
    entering = asyncio.create_task(opened.__aenter__())
    transfer = await rig.transport.next()
    transfer.head(200)
    stream = await entering
    rig.signal.set()
    transfer.data(b"more")
    assert await anext(stream) == b"more"
    transfer.done()
    assert [chunk async for chunk in stream] == []
    await opened.__aexit__(None, None, None)
    assert (rig.audit.only.action, rig.audit.only.success) == (CALL, True)


async def test_a_signal_never_extends_a_bound() -> None:
    rig = Foreign(bounds=Bounds(total=5.0))
    task = rig.begin(GET)
    await rig.transport.next()
    rig.clock.advance(3.0)
    rig.signal.set()
    rig.clock.advance(1.9)
    await asyncio.sleep(0)
    assert not task.done()
    rig.clock.advance(0.1)
    with pytest.raises(RequestTimeout) as late:
        await task
    assert late.value.code == "timeout_total"
    assert (rig.audit.only.action, rig.audit.only.success) == (CALL, False)


async def test_what_arrives_after_a_cancelled_task_changes_nothing() -> None:
    rig = Foreign()
    task = rig.begin(GET)
    transfer = await rig.transport.next()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rig.audit.only.action is EXPOSED
    transfer.head(200)
    transfer.data(b"late")
    transfer.done()
    await rig.client.drain()
    assert (rig.audit.only.action, rig.audit.only.status) == (EXPOSED, 0)


# ---- provenance


def test_no_parameter_says_what_the_transport_can() -> None:
    functions = [VaultHttpClient.__init__, *(getattr(VaultHttpClient, name) for name in CLONES)]
    given = {
        name: str(parameter.annotation)
        for one in functions
        for name, parameter in list(inspect.signature(one).parameters.items())[1:]
    }
    assert given["seconds"] == "float | None"
    assert not [name for name, kind in given.items() if "bool" in kind or "Client" in kind]
    with pytest.raises(AttributeError):
        Foreign().client.supports_cancellation = True  # type: ignore[misc]


async def test_a_subclass_that_claims_more_gets_no_more() -> None:
    class Liar(VaultHttpClient):
        supports_cancellation = True

    rig, genuine = Foreign(), Rig()
    liar: Any = copy.copy(rig.client)
    liar.__class__ = Liar
    liar.cloned_from = genuine.client
    for client in (liar, liar.with_timeout(5)):
        task = asyncio.create_task(client.send_cancellable(GET, rig.signal))
        transfer = await rig.transport.next()
        rig.signal.set()
        assert not transfer.aborted
        transfer.answer(200)
        assert (await task).status == 200
        rig.signal = type(rig.signal)()
    assert genuine.transport.transfers == []
    assert {row.action for row in rig.audit.rows} == {CALL}


# ---- timeouts


@pytest.mark.parametrize("name", sorted(set(CLONES) - {"with_timeout", "with_bounds"}))
@pytest.mark.parametrize("order", ["before", "after"])
async def test_a_timeout_is_remembered_across_clones(name: str, order: str) -> None:
    rig = Rig(credential=FakeCredential())
    if order == "before":
        client = CLONES[name](rig.client.with_timeout(5))
    else:
        client = CLONES[name](rig.client).with_timeout(5)
    task = asyncio.create_task(client.send(GET))
    transfer = await rig.transport.next()
    assert transfer.belt.total_ms == 6_000
    rig.clock.advance(4.99)
    await asyncio.sleep(0)
    assert not task.done()
    rig.clock.advance(0.01)
    with pytest.raises(RequestTimeout):
        await task
    other = asyncio.create_task(rig.client.send(GET))
    assert (await rig.transport.next()).belt.total_ms == 601_000
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other


async def test_a_timeout_leaves_the_other_bounds_and_they_leave_it() -> None:
    rig = Rig(bounds=Bounds(connect=2.0, first_byte=3.0))
    task = asyncio.create_task(rig.client.with_timeout(50).send(GET))
    await rig.transport.next()
    rig.clock.advance(2.0)
    with pytest.raises(RequestTimeout) as late:
        await task
    assert late.value.code == "timeout_connect"


@pytest.mark.parametrize("stage", ["lookup", "connect", "first byte", "silence"])
@pytest.mark.parametrize("with_signal", [False, True])
async def test_a_call_ends_at_the_same_moment_with_a_signal_as_without(
    stage: str, with_signal: bool
) -> None:
    bounds = Bounds(total=100.0, connect=2.0, first_byte=3.0, silence=4.0)
    rig = Rig(credential=FakeCredential(), bounds=bounds)
    if stage == "lookup":
        rig.resolver.hold("api.example.com")
    client = rig.client
    task = rig.begin(GET) if with_signal else asyncio.create_task(client.send(GET))
    if stage == "lookup":
        await until(lambda: rig.resolver.waiting == 1)
    else:
        transfer = await rig.transport.next()
        if stage != "connect":
            transfer.connected()
        if stage == "silence":
            transfer.head(200)
    limit = {"lookup": 2.0, "connect": 2.0, "first byte": 3.0, "silence": 4.0}[stage]
    rig.clock.advance(limit - 0.01)
    await asyncio.sleep(0)
    assert not task.done()
    rig.clock.advance(0.01)
    with pytest.raises(RequestTimeout):
        await task
    # Too late: the row stays one of a bound.
    rig.signal.set()
    assert (rig.audit.only.action, rig.audit.only.success) == (CALL, False)
