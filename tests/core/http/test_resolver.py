from __future__ import annotations

import asyncio
import threading

import pytest

from core.errors import RequestTimeout
from core.http import Bounds, CurlTransport, Request, ThreadResolver
from tests.core.http.server import answer, says, serve
from tests.core.http.wire import Wire, curl
from tests.support.waiting import until


class Names:
    """A blocking lookup in the test's hands: names with ``hung`` in them wait."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.let_go = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, host: str) -> tuple[str, ...]:
        with self._lock:
            self.asked.append(host)
        if "hung" in host:
            self.let_go.wait(20)
        if "missing" in host:
            raise OSError("no such name")
        return ("127.0.0.1",)


async def test_localhost_by_the_system() -> None:
    found = await ThreadResolver().resolve("localhost")
    assert set(found) <= {"127.0.0.1", "::1"}
    assert found


async def test_a_name_without_an_address() -> None:
    with pytest.raises(OSError, match="no address"):
        await ThreadResolver().resolve("nothing.invalid")


async def test_lookups_of_one_name_are_shared_and_answers_kept() -> None:
    names = Names()
    resolver = ThreadResolver(names)
    found = await asyncio.gather(*(resolver.resolve("a.test") for _ in range(20)))
    assert found == [("127.0.0.1",)] * 20
    await resolver.resolve("a.test")
    assert names.asked == ["a.test"]


async def test_a_failure_is_not_kept() -> None:
    names = Names()
    resolver = ThreadResolver(names)
    for _ in range(2):
        with pytest.raises(OSError, match="no address"):
            await resolver.resolve("missing.test")
    assert names.asked == ["missing.test"] * 2


async def test_hung_lookups_hold_up_nobody() -> None:
    names = Names()
    resolver = ThreadResolver(names)
    stuck = [asyncio.create_task(resolver.resolve(f"hung{n}.test")) for n in range(60)]
    await until(lambda: len(names.asked) >= 60)
    assert await asyncio.wait_for(resolver.resolve("healthy.test"), 10) == ("127.0.0.1",)
    names.let_go.set()
    await asyncio.gather(*stuck)


async def test_cancelling_one_waiter_leaves_the_others() -> None:
    names = Names()
    resolver = ThreadResolver(names)
    first = asyncio.create_task(resolver.resolve("hung.test"))
    second = asyncio.create_task(resolver.resolve("hung.test"))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    names.let_go.set()
    assert await second == ("127.0.0.1",)


async def test_no_job_is_given_to_a_thread_that_is_busy() -> None:
    names = Names()
    resolver = ThreadResolver(names)
    async with asyncio.timeout(10):
        for number in range(30):  # an idle thread is there each time, and is taken by the hung name
            await resolver.resolve(f"warm{number}.test")
            stuck = asyncio.create_task(resolver.resolve(f"hung{number}.test"))
            await resolver.resolve(f"quick{number}.test")
            stuck.cancel()
    names.let_go.set()


def test_a_hung_lookup_does_not_keep_the_program() -> None:
    import subprocess
    import sys

    script = (
        "import asyncio, threading\n"
        "from core.http import ThreadResolver\n"
        "async def main():\n"
        "    resolver = ThreadResolver(lambda host: threading.Event().wait(60))\n"
        "    try:\n"
        "        await asyncio.wait_for(resolver.resolve('x.test'), 0.05)\n"
        "    except TimeoutError:\n"
        "        print('bound')\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout == "bound\n"
    assert done.stderr == ""


async def test_the_client_over_real_threads_and_sockets() -> None:
    with curl() as transport:
        wire = Wire(transport, allow=("localhost",), resolver=ThreadResolver(Names()))
        async with serve(says(answer(b"x"))) as server:
            response = await wire.client.send(Request("GET", server.url(host="localhost")))
    assert response.body == b"x"


async def test_a_hung_name_ends_at_the_bound() -> None:
    names = Names()
    transport = CurlTransport()
    wire = Wire(transport, resolver=ThreadResolver(names), bounds=Bounds(connect=0.05))
    with pytest.raises(RequestTimeout) as timed_out:
        await wire.client.with_allow(()).send(Request("GET", "https://hung.test/"))
    assert timed_out.value.code == "timeout_lookup"
    names.let_go.set()
    transport.close()
