"""What went wrong elsewhere: rows of reports of other clients, each tried on ours.

The number of a row is in its test's name. Rows that stand elsewhere, or cannot occur here:

| row | what happened | where |
|---|---|---|
| 1 | a pin ignored on a pooled connection | test_transport: two_pins_for_one_host |
| 6 | credential ignored on reuse | test_transport: two_credentials_never_share |
| 9, 12 | ENHANCE_YOUR_CALM; a pause undone | test_h2: bug_row_09, bug_row_12 |
| 11 | a body cut after a pause | test_abort: a_paused_body; test_h2: bug_row_11 |
| 21 | no cancel before headers | test_cancel_wire, test_cancel |
| 22 | cancelled calls eat pool slots | cannot occur: there is no cap and so no queue |
| 23 | the next user got the answer | test_soak, test_abort: no_answer_is_ever_anothers |
| 26, 27 | one bound for everything | test_bounds: silence, first_byte |
| 28 to 30, 35 | two parsers, two hosts | test_url: shared_cases, reads_the_same_in_libcurl |
| 32 to 34, 36 to 43, 50 | names and addresses | test_bug_rows_where |
| 41 | metadata services reachable | test_addresses: metadata_is_refused_under_every_policy |
| 44 | environment proxies | test_transport: a_proxy_of_the_environment; test_options |
| 46 | credentials follow redirects | test_hostile: a_redirect_of_any_kind |
| 47 | line breaks in headers | test_rows: no_control_character_reaches_a_header |
| 48 | decompression bombs | test_hostile: is_never_unpacked |
| 51 | exception text on stderr | test_gates: a_sink_that_raises |
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pycurl
import pytest

from core.errors import ConfigError, RequestCancelled
from core.http import (
    CancelSignal,
    CurlTransport,
    Pin,
    Request,
    ThreadResolver,
)
from core.http._curl_options import HARDENING
from tests.core.http.server import Seen, answer, says, serve, silent
from tests.core.http.test_gates import heard, start
from tests.core.http.wire import Wire, curl, descriptors
from tests.fakes.http_ports import FakeCredential
from tests.support.waiting import until


@pytest.fixture
def transport() -> Iterator[CurlTransport]:
    with curl() as made:
        yield made


async def test_row_02_a_pin_does_not_leak_into_a_call_without_one(
    transport: CurlTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core.http import _curl_options

    real = _curl_options.apply

    def unpinned(easy, request, pin, belt, stale):  # type: ignore[no-untyped-def]
        real(easy, request, pin, belt, stale)
        easy.unsetopt(pycurl.RESOLVE)
        easy.unsetopt(pycurl.CONNECT_TO)

    async with serve(says(answer(b"x"))) as server:
        url = server.url(host="pinned.test")
        pin = Pin("a.invalid", ("127.0.0.1",), True)
        assert (await heard(transport, url, pin))[-1] == (None, 0)
        monkeypatch.setattr(_curl_options, "apply", unpinned)
        (ended,) = await heard(transport, url, pin)
        assert ended[1] == 42  # type: ignore[index]
        assert (server.connections, len(server.requests)) == (1, 1)


async def test_row_04_a_kept_connection_resends_no_older_secret(transport: CurlTransport) -> None:
    wire = Wire(transport, credential=FakeCredential())
    vault = wire.client._wiring.secrets
    async with serve(says(answer(b"x"))) as server:
        for value in ("first-token", "second-token", "third-token"):
            vault._values["key"] = value  # type: ignore[union-attr]
            await wire.client.send(Request("GET", server.url()))
    assert server.connections == 1
    sent = [seen.all("authorization") for seen in server.requests]
    assert sent == [["Bearer first-token"], ["Bearer second-token"], ["Bearer third-token"]]


def test_row_05_no_authentication_of_libcurls_own_and_no_libcurl_with_its_flaws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = {option.name: option.value for option in HARDENING}
    assert (values["HTTPAUTH"], values["NETRC"], values["UNRESTRICTED_AUTH"]) == (0, 0, 0)
    own = {"USERPWD", "USERNAME", "PASSWORD", "XOAUTH2_BEARER", "PROXYUSERPWD", "SSLCERT"}
    assert not own & set(values)
    monkeypatch.setattr(pycurl, "version_info", lambda: (11, "8.21.0"))
    with pytest.raises(ConfigError):
        CurlTransport()


def foreign_threads() -> int:
    """Return how many threads there are that Python does not know."""
    return len(os.listdir("/proc/self/task")) - threading.active_count()


async def test_rows_07_and_08_hung_names_delay_neither_an_abort_nor_the_close() -> None:
    let_go = threading.Event()
    before = foreign_threads()

    def lookup(_host: str) -> tuple[str, ...]:
        let_go.wait(20)
        return ()

    with curl() as transport:
        wire = Wire(transport, allow=("127.0.0.1", "*.test"), resolver=ThreadResolver(lookup))
        async with serve(silent) as server:
            calls = []
            for url in [*(f"https://hung{n}.test/" for n in range(10)), server.url()]:
                signal = CancelSignal()
                call = wire.client.send_cancellable(Request("GET", url), signal)
                calls.append((asyncio.create_task(call), signal))
            await asyncio.wait_for(server.arrived.wait(), 5)
            # libcurl looks nothing up; a thread that Python has let go of may still be ending.
            await until(lambda: foreign_threads() <= before)
            for task, signal in calls:
                begun = time.monotonic()
                signal.set()
                assert time.monotonic() - begun < 0.5
                with pytest.raises(RequestCancelled):
                    await task
            begun = time.monotonic()
            transport.close()
            assert time.monotonic() - begun < 0.5
    let_go.set()
    assert len(wire.audit.rows) == 11


async def test_row_13_descriptors_that_are_gone_or_taken_do_not_stop_the_driver(
    transport: CurlTransport,
) -> None:
    wire = Wire(transport)
    async with serve(says(answer(b"x"))) as server:
        await wire.client.send(Request("GET", server.url()))
        (driver,) = transport._drivers.values()
        reader, writer = os.pipe()
        os.close(reader)
        for what in (pycurl.POLL_IN, pycurl.POLL_OUT, pycurl.POLL_INOUT, pycurl.POLL_REMOVE):
            driver._on_socket(what, reader)  # closed already
            driver._on_socket(pycurl.POLL_REMOVE, 999_999)  # never heard of
        driver._on_socket(pycurl.POLL_OUT, writer)
        driver.opened(writer)  # the number means another connection now
        os.close(writer)
        driver._act(writer, pycurl.CSELECT_IN)
        for _ in range(3):
            assert (await wire.client.send(Request("GET", server.url()))).body == b"x"


async def _churn(count: int) -> float:
    with curl() as transport:
        wire = Wire(transport)
        async with serve(silent) as server:
            for _ in range(count // 50):
                signal = CancelSignal()
                server.requests.clear()
                tasks = [
                    asyncio.create_task(
                        wire.client.send_cancellable(Request("GET", server.url()), signal)
                    )
                    for _ in range(50)
                ]
                await until(lambda: len(server.requests) >= 50)
                signal.set()
                await asyncio.gather(*tasks, return_exceptions=True)
            await until(lambda: server.closed >= count)
            begun = time.process_time()
            await asyncio.sleep(0.3)
            assert len(wire.audit.rows) == count
            return (time.process_time() - begun) / 0.3


def test_row_14_a_thousand_aborts_on_uvloop_leave_it_idle(soak: bool) -> None:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        busy = runner.run(_churn(1_000 if soak else 300))
    assert busy < 0.05


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_row_15_a_client_that_nobody_closed_ends_quietly(loop: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio, socket, sys\n"
        "from tests.core.http.server import answer, says, serve\n"
        "from tests.core.http.wire import Wire\n"
        "from core.http import CurlTransport, Request\n"
        "silent = socket.create_server(('127.0.0.1', 0))\n"
        "async def main():\n"
        "    wire = Wire(CurlTransport())\n"
        "    url = 'http://127.0.0.1:%d/' % silent.getsockname()[1]\n"
        "    async with serve(says(answer(b'x'))) as server:\n"
        "        await wire.client.send(Request('GET', server.url()))\n"
        "        task = asyncio.create_task(wire.client.send(Request('GET', url)))\n"
        "        await asyncio.sleep(0.1)\n"
        "        assert not task.done()\n"
        "if sys.argv[1] == 'uvloop':\n"
        "    import uvloop\n"
        "    uvloop.install()\n"
        "asyncio.run(main())\n"
        "print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", script, loop],
        capture_output=True, text=True, timeout=30, check=False,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


async def test_row_18_closing_with_a_hundred_open_streams_settles_each_once() -> None:
    async def start(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
        await writer.drain()
        await asyncio.Event().wait()

    begun = 0
    with curl() as transport:
        wire = Wire(transport)

        async def read(url: str) -> None:
            nonlocal begun
            async with wire.client.stream(Request("GET", url)) as stream:
                assert await anext(stream) == b"ab"
                begun += 1
                await anext(stream)

        async with serve(start) as server:
            tasks = [asyncio.create_task(read(server.url())) for _ in range(100)]
            await until(lambda: begun >= 100)
            transport.close()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            transport.close()
    assert {type(one) for one in results} == {RequestCancelled}
    assert len({row.call_id for row in wire.audit.rows}) == len(wire.audit.rows) == 100


@pytest.mark.parametrize(
    "order",
    [
        ("abort", "finish", "close"),
        ("abort", "close", "finish"),
        ("finish", "abort", "close"),
        ("finish", "close", "abort"),
        ("close", "abort", "finish"),
        ("close", "finish", "abort"),
    ],
    ids="-".join,
)
async def test_row_19_abort_finish_and_close_in_any_order(order: tuple[str, ...]) -> None:
    with curl() as transport:
        async with serve(says(answer(b"x"))) as server:
            transfer, sink = start(transport, server.url(), Pin("a.invalid", ("127.0.0.1",), True))
            for step in order:
                if step == "abort":
                    transfer.abort()
                    transfer.resume()
                elif step == "close":
                    transport.close()
                else:
                    for _ in range(50):
                        await asyncio.sleep(0.001)
                        if sink.over.is_set():
                            break
    ends = [one for one in sink.heard if isinstance(one, tuple)]
    assert len(ends) == (0 if order[0] == "abort" else 1)


async def test_row_20_connections_that_servers_closed_do_not_pile_up(
    transport: CurlTransport,
) -> None:
    wire = Wire(transport)

    async def answer_once(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"x"))
        await writer.drain()
        asyncio.get_running_loop().call_later(0.02, writer.close)

    before = descriptors()
    for _ in range(3):
        async with serve(answer_once) as server:
            calls = (wire.client.send(Request("GET", server.url())) for _ in range(30))
            await asyncio.gather(*calls)
        await asyncio.sleep(1.05)  # libcurl looks for dead ones once a second, at the next call
    async with serve(says(answer(b"x"))) as server:
        await wire.client.send(Request("GET", server.url()))
        await wire.client.send(Request("GET", server.url()))
    assert descriptors() - before < 10


async def test_row_25_after_an_abort_the_server_gets_nothing_more_written(
    transport: CurlTransport,
) -> None:
    wire, signal = Wire(transport), CancelSignal()
    refused = asyncio.Event()

    async def bill(_seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(b"token ")
                await writer.drain()
                await asyncio.sleep(0.001)
        finally:
            refused.set()

    async with (
        serve(bill) as server,
        wire.client.stream(Request("GET", server.url()), signal) as stream,
    ):
        await anext(stream)
        signal.set()
        begun = time.monotonic()
        await asyncio.wait_for(refused.wait(), 5)
        assert time.monotonic() - begun < 0.5
        with pytest.raises(RequestCancelled):
            async for _ in stream:
                pass
