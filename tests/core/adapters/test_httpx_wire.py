"""The adapter over real sockets on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.adapters import httpx_transport
from core.http import Request
from core.model import AuditAction
from tests.core.http.rig import SECRET
from tests.core.http.server import Seen, answer, says, serve, silent
from tests.core.http.wire import Wire, curl, descriptors
from tests.fakes.http_ports import FakeCredential

PATIENCE_S = 5.0
KEY = FakeCredential(hosts=("127.0.0.1",))


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    with curl() as transport:
        yield Wire(transport, credential=KEY)


@pytest.fixture
async def http(library: Any, wire: Wire) -> AsyncIterator[Any]:
    async with library.AsyncClient(transport=httpx_transport(wire.client)) as made:
        yield made


async def trickle(_seen: Seen, writer: asyncio.StreamWriter) -> None:
    """Begin an answer and never end it."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n")
    await asyncio.Event().wait()


async def test_a_whole_exchange(http: Any, wire: Wire) -> None:
    async with serve(says(answer(b"hello", "200 OK", "X-One: 1"))) as server:
        for _ in range(3):
            got = await http.post(
                server.url("/p?a=%20b"), json={"a": 1}, headers={"Authorization": "Bearer no"}
            )
            assert (got.status_code, got.text, got.headers["x-one"]) == (200, "hello", "1")
    assert [seen.line for seen in server.requests] == ["POST /p?a=%20b HTTP/1.1"] * 3
    assert server.requests[0].all("authorization") == [f"Bearer {SECRET}"]
    assert server.connections == 1
    assert [(row.action, row.success) for row in wire.audit.rows] == [
        (AuditAction.HTTP_CALL, True)
    ] * 3


async def test_the_same_bytes_as_from_the_client_itself(
    library: Any, http: Any, wire: Wire
) -> None:
    headers = (("Content-Type", "text/plain"), ("X-Mine", "1"), ("User-Agent", "me"))
    async with serve(says(answer(b"ok"))) as server:
        await wire.client.send(Request("PUT", server.url("/x"), headers, b"body"))
        request = library.Request("PUT", server.url("/x"), headers=headers, content=b"body")
        await http.send(request)
    direct, adapted = server.requests
    assert (adapted.line, adapted.body) == (direct.line, direct.body)
    assert adapted.headers == direct.headers


async def test_an_encoded_answer_is_decoded_by_the_library(http: Any) -> None:
    import gzip

    raw = answer(gzip.compress(b"hello" * 100), "200 OK", "Content-Encoding: gzip")
    async with serve(says(raw)) as server:
        assert (await http.get(server.url())).content == b"hello" * 100


@pytest.mark.parametrize(
    ("how", "stage"), [("closed", "body"), ("cancelled", "head"), ("cancelled", "body")]
)
async def test_a_stopped_call_closes_its_socket(
    http: Any, wire: Wire, how: str, stage: str
) -> None:
    read = asyncio.Event()

    async def work(http: Any, url: str) -> None:
        async with http.stream("GET", url) as got:
            async for _ in got.aiter_bytes():
                read.set()
                if how == "closed":
                    return

    async with serve(silent if stage == "head" else trickle) as server:
        task = asyncio.create_task(work(http, server.url()))
        await asyncio.wait_for((server.arrived if stage == "head" else read).wait(), PATIENCE_S)
        if how == "cancelled":
            task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE_S)
        assert task.cancelled() == (how == "cancelled")
        await asyncio.wait_for(server.peer_closed.wait(), PATIENCE_S)
    assert wire.audit.only.action is AuditAction.HTTP_CALL_CANCELLED
    assert wire.audit.only.status == (200 if stage == "body" else 0)


async def test_errors_of_real_sockets(library: Any, http: Any, wire: Wire) -> None:
    async with serve(says(b"")) as server:
        nobody = server.url()
    cut = answer(b"12345").replace(b"Content-Length: 5", b"Content-Length: 50")

    async def hang_up(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(cut)
        writer.close()

    with pytest.raises(library.ConnectError):
        await http.get(nobody)
    async with serve(hang_up) as server:
        with pytest.raises(library.ReadError):
            await http.get(server.url())
    async with serve(says(b"nonsense\r\n\r\n")) as server:
        with pytest.raises(library.RemoteProtocolError):
            await http.get(server.url())
    async with serve(silent) as server:
        with pytest.raises(library.ReadTimeout):
            await http.get(server.url(), timeout=library.Timeout(0.05))
    assert [row.success for row in wire.audit.rows] == [False] * 4
    assert {row.action for row in wire.audit.rows} == {AuditAction.HTTP_CALL}


async def test_many_stopped_calls_leave_no_descriptor(library: Any) -> None:
    before = descriptors()
    with curl() as transport:
        wire = Wire(transport, credential=KEY)
        http = library.AsyncClient(transport=httpx_transport(wire.client))
        async with serve(trickle) as server, http:
            answers = [
                await http.send(http.build_request("GET", server.url()), stream=True)
                for _ in range(20)
            ]
            await asyncio.gather(*(one.aclose() for one in answers[:10]))
            del answers
            await wire.client.drain()
    assert len(wire.audit.rows) == 20
    assert {row.action for row in wire.audit.rows} == {AuditAction.HTTP_CALL_CANCELLED}
    assert descriptors() == before
