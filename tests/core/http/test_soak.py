"""Thousands of aborts at random moments: nothing crossed, nothing left, no growth."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable

import pytest

from core.errors import HttpError, RequestCancelled
from core.http import Bounds, CancelSignal, Request, Response
from tests.core.http.hostile import answering, listen
from tests.core.http.server import Seen, Server, answer, serve, silent
from tests.core.http.wire import Wire, curl, descriptors, resident_kib
from tests.fakes.http_ports import FakeCredential
from tests.support.waiting import until

AT_ONCE = 40


class Storm:
    """Calls of which about half are stopped at a random moment, in a random way."""

    def __init__(self, wire: Wire, seed: int) -> None:
        self._wire = wire
        self._chance = random.Random(seed)
        self._gate = asyncio.Semaphore(AT_ONCE)
        self.whole = 0
        self.crossed: list[str] = []

    async def run(self, url: Callable[[str], str], calls: int) -> None:
        await asyncio.gather(*(self._one(url, f"/{number}") for number in range(calls)))

    async def _one(self, url: Callable[[str], str], path: str) -> None:
        signal, chance = CancelSignal(), self._chance
        async with self._gate:
            task = asyncio.ensure_future(self._call(Request("GET", url(path)), signal))
            if chance.random() < 0.6:
                stop = signal.set if chance.random() < 0.7 else task.cancel
                asyncio.get_running_loop().call_later(chance.random() ** 2 * 0.03, stop)
            result = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(result, Response):
            self.whole += 1
            if result.body != path.encode() * 300:
                self.crossed.append(path)
        elif not isinstance(result, RequestCancelled | asyncio.CancelledError):
            raise result

    async def _call(self, request: Request, signal: CancelSignal) -> Response:
        client = self._wire.client
        if self._chance.random() < 0.5:
            return await client.send_cancellable(request, signal)
        async with client.stream(request, signal) as stream:
            body = b"".join([chunk async for chunk in stream])
        return Response(stream.status, stream.headers, body)


async def in_pieces(seen: Seen, writer: asyncio.StreamWriter) -> None:
    raw = answer(seen.path.encode() * 300)
    for piece in (raw[:20], raw[20:90], raw[90:]):
        writer.write(piece)
        await asyncio.sleep(0)


def forget(wire: Wire, server: Server) -> None:
    """Drop what the fakes keep, so that growth is the client's."""
    wire.audit.rows.clear()
    wire.audit.begun.clear()
    server.requests.clear()


async def settled(before: int) -> None:
    await until(lambda: descriptors() <= before)


@pytest.mark.timeout(300)
async def test_random_aborts_cross_no_answer_and_leave_nothing(soak: bool) -> None:
    rounds, calls = 6, 1_000 if soak else 100
    before = descriptors()
    memory: list[int] = []
    ids: list[str | None] = []
    with curl() as transport:
        wire = Wire(transport, credential=FakeCredential())
        storm = Storm(wire, seed=40)
        async with serve(in_pieces) as server:
            for _ in range(rounds):
                await storm.run(server.url, calls)
                assert (await wire.client.send(Request("GET", server.url("/1")))).status == 200
                ids += [row.call_id for row in wire.audit.rows]
                forget(wire, server)
                gc.collect()
                memory.append(resident_kib())
    await settled(before)
    assert storm.crossed == []
    assert rounds * calls // 4 < storm.whole < rounds * calls
    # A task that was cancelled before its first step made no call.
    assert rounds * calls * 0.9 < len(ids) == len(set(ids)) <= rounds * (calls + 1)
    assert memory[-1] - memory[1] < 1_024


@pytest.mark.timeout(300)
async def test_bug_row_16_aborts_and_failures_do_not_grow_the_process(soak: bool) -> None:
    count = 10_000 if soak else 600
    with curl() as transport:
        wire = Wire(transport, credential=FakeCredential(), bounds=Bounds(total=10))

        async def stop(url: str, arrived: asyncio.Event) -> None:
            signal = CancelSignal()
            arrived.clear()
            task = asyncio.create_task(wire.client.send_cancellable(Request("GET", url), signal))
            await arrived.wait()
            signal.set()
            await asyncio.gather(task, return_exceptions=True)

        async def fail(url: str) -> None:
            with pytest.raises(HttpError):
                await wire.client.send(Request("GET", url))

        async with serve(silent) as server, listen(answering(b"nonsense\r\n\r\n")) as broken:

            async def round_of(times: int) -> None:
                for _ in range(times // 2):
                    await stop(server.url(), server.arrived)
                    await fail(broken.url())
                    forget(wire, server)

            await round_of(400)
            memory, open_now = resident_kib(), descriptors()
            await round_of(count)
            assert resident_kib() - memory < 1_024
            await until(lambda: descriptors() <= open_now + 2)
