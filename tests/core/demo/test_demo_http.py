"""The demo server on raw sockets: what it reads, what it refuses, what it notices."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from core.demo import DemoServer, pace_from_environment, url_from_environment
from core.errors import ConfigError, UsageError
from tests.support.waiting import until

_KEY = "demo-k3y"


class _Socket:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, server: DemoServer) -> _Socket:
        host, port = server.url.removeprefix("http://").split(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    def say(self, data: bytes) -> None:
        self._writer.write(data)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        head = (await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), 5)).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {line.split(": ")[0].lower(): line.split(": ")[1] for line in lines}
        body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return int(first.split(" ")[1]), headers, body

    async def some(self) -> bytes:
        return await asyncio.wait_for(self._reader.read(65_536), 5)

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


def _chat(model: str, **more: Any) -> bytes:
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **more}
    data = json.dumps(body).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nX-Run-Id: r9\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(data) + data


def _get(path: str, *headers: str) -> bytes:
    return "\r\n".join((f"GET {path} HTTP/1.1", "Host: h", *headers, "", "")).encode()


async def test_the_api_asks_for_the_credential(demo: DemoServer) -> None:
    socket = await _Socket.open(demo)
    answers = []
    for header in ("X: y", "Authorization: Bearer other", f"Authorization: Bearer {_KEY}"):
        socket.say(_get("/api/forecast?city=Oslo", header, "X-Run-Id: r1"))
        answers.append(await socket.answer())
    assert [answer[0] for answer in answers] == [401, 401, 200]
    assert answers[0][1]["www-authenticate"] == "Bearer"
    assert json.loads(answers[2][2])["city"] == "Oslo"
    records = demo.stats()["requests"]
    assert [(r["kind"], r["scene"], r["run_id"], r["end"]) for r in records] == [
        ("api", None, "r1", "complete")
    ] * 3
    assert _KEY not in f"{demo!r} {answers!r} {records!r}"
    await socket.close()


async def test_stats_over_http_are_the_servers_own(demo: DemoServer) -> None:
    socket = await _Socket.open(demo)
    socket.say(_chat("demo"))
    await socket.answer()
    socket.say(_get("/_stats"))
    status, _, body = await socket.answer()
    assert (status, json.loads(body)) == (200, demo.stats())
    [record] = demo.stats()["requests"]
    assert set(record) == {"kind", "scene", "run_id", "at_ns", "tokens", "end"}
    assert (record["kind"], record["scene"], record["run_id"]) == ("model", "weather", "r9")
    await socket.close()


async def test_requests_in_one_write_are_answered_in_turn(demo: DemoServer) -> None:
    socket = await _Socket.open(demo)
    socket.say(_get("/_stats") + _get("/nowhere") + _get("/_stats"))
    assert [(await socket.answer())[0] for _ in range(3)] == [200, 404, 200]
    await socket.close()


async def test_a_request_byte_by_byte_and_one_that_expects_a_continue(demo: DemoServer) -> None:
    socket = await _Socket.open(demo)
    for byte in _chat("demo/thinking"):
        socket.say(bytes([byte]))
    assert (await socket.answer())[0] == 200
    head, _, body = _chat("demo").partition(b"\r\n\r\n")
    socket.say(head + b"\r\nExpect: 100-continue\r\n\r\n")
    assert (await socket.answer())[0] == 100
    socket.say(body)
    assert (await socket.answer())[0] == 200
    await socket.close()


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000, 431),
    ],
)
async def test_what_it_cannot_read_it_refuses_and_hangs_up(
    demo: DemoServer, request_bytes: bytes, status: int
) -> None:
    socket = await _Socket.open(demo)
    socket.say(request_bytes)
    assert (await socket.answer())[0] == status
    assert await socket.some() == b""
    await socket.close()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"model": "demo"}', 400),
        (b'{"model": "demo", "messages": [1]}', 400),
        (b'{"model": null, "messages": []}', 404),
        (b'{"model": "weather", "messages": []}', 404),
        (b'{"model": "demo/nothing", "messages": []}', 404),
        (b"[" * 100_000, 400),
    ],
)
async def test_a_bad_chat_request_is_an_error_in_json(
    demo: DemoServer, body: bytes, status: int
) -> None:
    socket = await _Socket.open(demo)
    socket.say(
        b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )
    found, headers, answer = await socket.answer()
    assert (found, headers["content-type"]) == (status, "application/json")
    assert json.loads(answer)["error"]["message"]
    await socket.close()


async def test_a_wrong_method_is_told_the_right_one(demo: DemoServer) -> None:
    socket = await _Socket.open(demo)
    socket.say(_get("/v1/chat/completions"))
    status, headers, _ = await socket.answer()
    assert (status, headers["allow"]) == (405, "POST")
    await socket.close()


@pytest.mark.parametrize("model", ["demo/essay", "demo/stall"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_is_noticed_while_it_waits(model: str, stream: bool) -> None:
    server = DemoServer(pace=1_000_000)
    await server.start()
    socket = await _Socket.open(server)
    socket.say(_chat(model, stream=stream))
    await until(lambda: server.stats()["requests"])
    assert server.stats()["requests"][0]["end"] is None
    await socket.close()
    await until(lambda: server.stats()["requests"][0]["end"] == "disconnected")
    assert server.stats()["requests"][0]["tokens"] == 0
    await server.close()


async def test_a_slow_reader_holds_the_server_back(demo: DemoServer) -> None:
    socket = await _Socket.open(demo)
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]
    # Six lines of 5 MB are more than the sockets' buffers take.
    for _ in range(6):
        socket.say(_chat("demo/hostile", stream=True, messages=said))
    await until(lambda: demo.stats()["requests"])
    for _ in range(2_000):
        await asyncio.sleep(0)
    assert len(demo.stats()["requests"]) < 6
    received = 0
    while received < 6 * 5_000_000:
        received += len(await socket.some())
    await until(lambda: [r["end"] for r in demo.stats()["requests"]] == ["complete"] * 6)
    await socket.close()


async def test_each_token_is_sent_when_it_is_made() -> None:
    server = DemoServer(pace=0.02)
    await server.start()
    socket = await _Socket.open(server)
    socket.say(_chat("demo/essay", stream=True))
    data = b""
    while data.count(b"data: ") < 6:
        data += await socket.some()
    # The reader was never a buffer's length behind.
    assert server.stats()["requests"][0]["tokens"] < 1_000
    await socket.close()
    await server.close()


async def test_max_tokens_cuts_the_answer(demo: DemoServer) -> None:
    socket = await _Socket.open(demo)
    socket.say(_chat("demo/essay", max_tokens=7))
    _, _, body = await socket.answer()
    found = json.loads(body)
    assert found["choices"][0]["finish_reason"] == "length"
    assert found["usage"]["completion_tokens"] == 7
    await socket.close()


async def test_a_port_in_use_is_said_clearly(demo: DemoServer) -> None:
    port = int(demo.url.rsplit(":", 1)[1])
    other = DemoServer(port=port)
    with pytest.raises(UsageError) as caught:
        await other.start()
    assert str(port) in caught.value.where
    await other.close()


async def test_closing_drops_every_connection_and_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    server = DemoServer(pace=1_000_000)
    await server.start()
    sockets = [await _Socket.open(server) for _ in range(3)]
    sockets[0].say(_chat("demo/stall"))
    sockets[1].say(_chat("demo/essay", stream=True))
    await until(lambda: len(server.stats()["requests"]) == 2)
    await server.close()
    await server.close()
    assert asyncio.all_tasks() == before
    for socket in sockets:
        await socket.close()


@pytest.mark.parametrize(("text", "pace"), [(None, 1.0), ("", 1.0), ("0", 0.0), (" 0.25 ", 0.25)])
def test_the_pace_comes_from_the_environment(
    text: str | None, pace: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        monkeypatch.setenv("PLAYGROUND_DEMO_PACE", text)
    assert pace_from_environment() == pace


@pytest.mark.parametrize("text", ["fast", "-1", "nan", "inf"])
def test_a_pace_that_is_none_is_said_clearly(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYGROUND_DEMO_PACE", text)
    with pytest.raises(ConfigError):
        pace_from_environment()


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (None, None),
        ("", None),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://localhost:1/", "http://localhost:1"),
        ("http://[::1]:65535", "http://[::1]:65535"),
    ],
)
def test_a_shared_server_comes_from_the_environment(
    text: str | None, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        monkeypatch.setenv("PLAYGROUND_DEMO_URL", text)
    assert url_from_environment() == url


@pytest.mark.parametrize(
    "text",
    [
        "8000", "127.0.0.1:8000", "http://127.0.0.1", "http://127.0.0.1:", "http://127.0.0.1:0",
        "http://127.0.0.1:65536", "http://127.0.0.1:8x", "http://[::1", "https://127.0.0.1:443",
        "http://example.com:80", "http://10.0.0.1:80", "http://127.0.0.1.evil.test:80",
        "http://me:pw@127.0.0.1:80", "http://127.0.0.1:80/x", "http://127.0.0.1:80?x",
        "http://127.0.0.1:80\r\nX: y", " http://127.0.0.1:80",
    ],
)  # fmt: skip
def test_a_shared_server_that_is_not_on_loopback_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYGROUND_DEMO_URL", text)
    with pytest.raises(ConfigError) as caught:
        url_from_environment()
    assert caught.value.where == "PLAYGROUND_DEMO_URL"
    assert "pw" not in str(caught.value)
