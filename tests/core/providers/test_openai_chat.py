"""The provider over the real client, its transport scripted: no socket, no sleep."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from core.errors import AuditUnavailable
from core.http import (
    AddressPolicy,
    Bounds,
    CallContext,
    CancelSignal,
    Fault,
    VaultHttpClient,
)
from core.model.messages import Message, ModelRequest, ToolCall
from core.model.usage import Usage
from core.model.words import AuditAction, StepOutcome
from core.providers import ModelReply, OpenAIChat, parse_exchange
from tests.fakes.clock import FakeClock
from tests.fakes.http_ports import CountingIds, FakeCredential, FakeVault, MemoryAudit
from tests.fakes.resolver import FakeResolver
from tests.fakes.transport import ScriptedTransfer, ScriptedTransport
from tests.support.waiting import until

_SSE = {"content-type": "text/event-stream"}
_REQUEST = ModelRequest("m", (Message("user", "x" * 40),))
_ESTIMATED_INPUT = 10


def _event(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


def _call(arguments: str, index: int = 0) -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": f"c{index}", "function": function}]}


_USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}\n\n'
_DONE = b"data: [DONE]\n\n"


class _Rig:
    """A provider, a client with a credential, and the transport in the test's hands."""

    def __init__(self, *, bounds: Bounds | None = None) -> None:
        self.transport = ScriptedTransport()
        self.audit = MemoryAudit()
        self.clock = FakeClock()
        self.vault = FakeVault(key="s3cr3t-canary")
        self.signal = CancelSignal()
        self.heard: list[tuple[str, str]] = []
        self.resolver = FakeResolver({"model.example.com": ("93.184.216.34",)})
        self.http = VaultHttpClient(
            transport=self.transport,
            resolver=self.resolver,
            policy=AddressPolicy(),
            audit=self.audit,
            secrets=self.vault,
            clock=self.clock,
            ids=CountingIds(),
            credential=FakeCredential(hosts=("model.example.com",)),
            context=CallContext(),
            bounds=bounds,
        )
        self.provider = OpenAIChat(
            "https://model.example.com/v1/", headers=(("X-Run-Id", "r1"),), clock=self.clock
        )

    async def begin(
        self, request: ModelRequest = _REQUEST
    ) -> tuple[asyncio.Task[ModelReply], ScriptedTransfer]:
        task = asyncio.create_task(self.respond(request))
        return task, await self.transport.next()

    async def respond(self, request: ModelRequest = _REQUEST) -> ModelReply:
        return await self.provider.respond(
            request,
            http=self.http,
            signal=self.signal,
            on_delta=lambda kind, text: self.heard.append((kind, text)),
        )

    async def heard_all(self, *texts: str) -> None:
        await until(lambda: [text for _, text in self.heard] == list(texts))


async def test_a_streamed_answer() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    assert wire.request.method == "POST"
    assert wire.request.url.path == "/v1/chat/completions"
    assert wire.header("x-run-id") == "r1"
    assert wire.header("content-type") == "application/json"
    assert wire.header("authorization") == "Bearer s3cr3t-canary"
    assert json.loads(wire.request.body)["stream"] is True
    wire.head(200, tuple(_SSE.items()))
    wire.data(_event({"reasoning_content": "Hm"}) + _event({"content": "Good"})[:20])
    wire.data(_event({"content": "Good"})[20:])
    await rig.heard_all("Hm", "Good")
    assert not task.done()
    wire.data(_event({"content": " day"}) + _event({}, "stop") + _USAGE + _DONE)
    wire.done()
    reply = await task
    assert reply.outcome is StepOutcome.OK
    assert reply.error is None
    assert (reply.response.text, reply.response.thinking) == ("Good day", "Hm")
    assert reply.response.usage == Usage(requests=1, input_tokens=7, output_tokens=3)
    assert rig.heard == [("thinking", "Hm"), ("text", "Good"), ("text", " day")]
    assert rig.audit.only.action is AuditAction.HTTP_CALL
    assert rig.audit.only.success


async def test_an_answer_in_one_piece() -> None:
    rig = _Rig()
    request = replace(_REQUEST, stream=False, raw=True)
    task, wire = await rig.begin(request)
    assert json.loads(wire.request.body)["stream"] is False
    body = json.dumps({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]})
    wire.answer(200, body.encode(), **{"content-type": "application/json"})
    reply = await task
    assert reply.outcome is StepOutcome.OK
    assert reply.response.text == "yes"
    assert reply.response.raw == body
    expected = Usage(requests=1, input_tokens=_ESTIMATED_INPUT, output_tokens=1, estimated=True)
    assert reply.response.usage == expected
    assert rig.heard == []


async def test_a_server_that_does_not_stream_though_asked() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    body = {
        "choices": [{"message": {"content": "yes", "reasoning": "hm"}, "finish_reason": "stop"}]
    }
    wire.answer(
        200, json.dumps(body).encode(), **{"content-type": "application/json; charset=utf-8"}
    )
    reply = await task
    assert reply.outcome is StepOutcome.OK
    assert reply.response.text == "yes"
    assert rig.heard == [("thinking", "hm"), ("text", "yes")]


async def test_a_stop_in_mid_stream_keeps_what_came() -> None:
    rig = _Rig()
    task, wire = await rig.begin(replace(_REQUEST, raw=True))
    wire.head(200, tuple(_SSE.items()))
    begun = _event({"content": "Good d"}) + _event(_call('{"city":"Oslo"}')) + _event(_call("{", 1))
    wire.data(begun)
    await rig.heard_all("Good d")
    rig.signal.set()
    assert wire.aborted
    reply = await task
    assert reply.outcome is StepOutcome.INTERRUPTED
    assert reply.error is None
    assert reply.response.text == "Good d"
    assert reply.response.finish_reason == ""
    assert reply.response.tool_calls == (ToolCall("c0", "get_weather", '{"city":"Oslo"}'),)
    assert reply.response.raw == begun.decode()
    usage = reply.response.usage
    assert (usage.requests, usage.input_tokens, usage.estimated) == (1, _ESTIMATED_INPUT, True)
    assert usage.output_tokens == -(-(6 + 11 + 15 + 11 + 1) // 4)
    assert rig.audit.only.action is AuditAction.HTTP_CALL_CANCELLED


async def test_a_stop_before_anything_is_sent_costs_nothing() -> None:
    rig = _Rig()
    rig.signal.set()
    reply = await rig.respond()
    assert reply.outcome is StepOutcome.INTERRUPTED
    assert reply.response.usage == Usage()
    assert rig.audit.only.action is AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND
    assert rig.transport.transfers == []


async def test_a_stop_while_waiting_for_the_head_may_have_cost_the_prompt() -> None:
    rig = _Rig()
    task, _ = await rig.begin(replace(_REQUEST, stream=False))
    rig.signal.set()
    reply = await task
    assert reply.outcome is StepOutcome.INTERRUPTED
    assert reply.response.usage == Usage(requests=1, input_tokens=_ESTIMATED_INPUT, estimated=True)


@pytest.mark.parametrize(
    ("status", "failure_class"),
    [
        (401, "auth"),
        (404, "client_error"),
        (429, "rate_limit"),
        (500, "server_error"),
        (302, "configuration"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_an_http_error_is_a_value(status: int, failure_class: str, stream: bool) -> None:
    rig = _Rig()
    task, wire = await rig.begin(replace(_REQUEST, stream=stream))
    wire.answer(status, b'{"error": {"message": "No \\u001b[2J"}}', **{"Retry-After": "4"})
    reply = await task
    assert reply.outcome is StepOutcome.ERROR
    assert reply.error is not None
    assert reply.error.failure_class == failure_class
    assert reply.error.retry_after == 4.0
    assert "\x1b" not in reply.error.what
    # The server says that no model ran.
    assert reply.response.usage == Usage(requests=1)
    assert rig.audit.only.success
    assert rig.audit.only.status == status


async def test_a_date_to_retry_after_counts_from_the_clock() -> None:
    rig = _Rig()
    from email.utils import formatdate

    task, wire = await rig.begin()
    later = formatdate(rig.clock.now_us() // 1_000_000 + 90, usegmt=True)
    wire.answer(429, b"", **{"Retry-After": later})
    error = (await task).error
    assert error is not None
    assert error.retry_after is not None
    assert 89 <= error.retry_after <= 90


@pytest.mark.parametrize(
    ("events", "failure_class"),
    [
        (b"", "incomplete_stream"),
        (_DONE, "incomplete_stream"),
        (_event({"content": " day"}), "incomplete_stream"),
        (b"data: {oops\n\n", "malformed"),
        (b'data: {"error": {"code": 503, "message": "gone"}}\n\n', "server_error"),
    ],
)
async def test_a_stream_that_ends_badly_is_a_failure_with_its_text(
    events: bytes, failure_class: str
) -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    wire.head(200, tuple(_SSE.items()))
    wire.data(_event({"content": "Good"}) + events)
    wire.done()
    reply = await task
    assert reply.outcome is StepOutcome.ERROR
    assert reply.error is not None
    assert reply.error.failure_class == failure_class
    assert reply.response.text.startswith("Good")
    assert reply.response.usage.estimated
    assert "".join(text for _, text in rig.heard) == reply.response.text
    # The call itself came to its end.
    assert rig.audit.only.action is AuditAction.HTTP_CALL
    assert rig.audit.only.success


async def test_after_a_broken_chunk_only_a_near_end_is_waited_for() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    wire.head(200, tuple(_SSE.items()))
    wire.data(b"data: {oops\n\n")
    for _ in range(40):
        await asyncio.sleep(0)
        if wire.over:
            break
        wire.data(_event({"content": "more " * 200}))
    reply = await task
    assert wire.aborted
    assert reply.error is not None
    assert reply.error.failure_class == "malformed"
    assert rig.heard == []


async def test_a_connection_lost_in_mid_stream() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    wire.head(200, tuple(_SSE.items()))
    wire.data(_event({"content": "Good"}))
    wire.fail(Fault.LOST, 56)
    reply = await task
    assert reply.outcome is StepOutcome.ERROR
    assert reply.error is not None
    assert reply.error.failure_class == "connection"
    assert reply.response.text == "Good"
    assert reply.response.usage.input_tokens == _ESTIMATED_INPUT


async def test_a_connection_lost_after_the_finish_reason_loses_nothing() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    wire.head(200, tuple(_SSE.items()))
    wire.data(_event({"content": "Good"}) + _event({}, "stop") + _USAGE)
    wire.fail(Fault.LOST, 56)
    reply = await task
    assert reply.outcome is StepOutcome.OK
    assert reply.response.text == "Good"
    assert reply.response.finish_reason == "stop"


async def test_a_server_that_cannot_be_reached_costs_no_token() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    wire.fail(Fault.CONNECT, 7)
    reply = await task
    assert reply.error is not None
    assert reply.error.failure_class == "connection"
    assert reply.response.usage == Usage(requests=1)


async def test_a_stream_that_falls_silent_runs_into_its_bound() -> None:
    rig = _Rig(bounds=Bounds(silence=30.0))
    task, wire = await rig.begin()
    wire.head(200, tuple(_SSE.items()))
    wire.data(_event({"content": "Good"}))
    await rig.heard_all("Good")
    rig.clock.advance(31.0)
    reply = await task
    assert reply.error is not None
    assert reply.error.failure_class == "timeout"
    assert reply.response.text == "Good"


async def test_a_refused_host_and_a_missing_secret_are_matters_of_configuration() -> None:
    rig = _Rig()
    rig.http = rig.http.with_credential(FakeCredential(hosts=("other.example.com",)))
    refused = await rig.respond()
    rig.http = rig.http.with_credential(FakeCredential(name="gone"))
    missing = await rig.respond()
    for reply in (refused, missing):
        assert reply.outcome is StepOutcome.ERROR
        assert reply.error is not None
        assert reply.error.failure_class == "configuration"
        assert reply.response.usage == Usage()
    assert len(rig.audit.rows) == 2


async def test_an_audit_that_is_down_is_no_failure_of_the_model() -> None:
    rig = _Rig()
    rig.audit.down = True
    with pytest.raises(AuditUnavailable):
        await rig.respond()
    assert rig.transport.transfers == []


async def test_a_cancelled_task_is_cancelled_and_accounted_for() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    wire.head(200, tuple(_SSE.items()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await rig.http.drain()
    assert wire.aborted
    assert rig.audit.only.action is AuditAction.HTTP_CALL_CANCELLED


async def test_no_secret_in_anything_that_comes_out() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    wire.answer(401, b'{"error": {"message": "denied"}}')
    reply = await task
    assert "s3cr3t-canary" not in f"{reply!r} {rig.audit.rows!r} {rig.provider!r}"


async def test_counts_from_the_middle_of_a_stopped_stream_are_not_taken_for_its_end() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    wire.head(200, tuple(_SSE.items()))
    early = {"prompt_tokens": 7, "completion_tokens": 1}
    wire.data(_event({"content": "a"}, usage=early) + _event({"content": "b" * 40}))
    await rig.heard_all("a", "b" * 40)
    rig.signal.set()
    usage = (await task).response.usage
    assert usage == Usage(requests=1, input_tokens=7, output_tokens=11, estimated=True)


async def test_counts_that_came_with_the_last_piece_of_a_stopped_stream_stand() -> None:
    rig = _Rig()
    task, wire = await rig.begin()
    wire.head(200, tuple(_SSE.items()))
    wire.data(_event({"content": "b" * 40}, usage={"prompt_tokens": 7, "completion_tokens": 2}))
    await rig.heard_all("b" * 40)
    rig.signal.set()
    usage = (await task).response.usage
    assert usage == Usage(requests=1, input_tokens=7, output_tokens=2)


def test_a_secret_echoed_as_a_reason_or_a_key_is_not_narrated() -> None:
    echo = "Bearer s3cr3t-canary-0123456789"
    body = {
        "choices": [{"message": {"content": "x", echo: 1}, "finish_reason": echo}],
        echo: 1,
    }
    response = parse_exchange("openai-chat", 200, "application/json", json.dumps(body).encode())
    assert "canary" not in f"{response.finish_reason} {response.unrepresented}"
    assert len(response.unrepresented) == 2
    assert response.finish_reason


def test_a_reason_of_any_length_is_bounded() -> None:
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop " * 100_000}]}
    response = parse_exchange("openai-chat", 200, "application/json", json.dumps(body).encode())
    assert response.finish_reason.startswith("stop stop")
    assert len(response.finish_reason) < 100
