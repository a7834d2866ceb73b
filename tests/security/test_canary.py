from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from core import Runtime, open_runtime
from core.errors import HttpError, StepbrakeError
from core.http import Request
from core.model import Event, Output, Response, RunRequest
from core.model.codec import to_json
from core.store import AuditQuery
from core.tools import Tool, ToolContext, ToolError, tool
from tests.security.canary import (
    CANARIES,
    SHAPED,
    SHAPELESS,
    shows,
    shows_below,
    spellings,
    told_by,
)
from tests.security.echo_server import EchoServer, echo_server

MODELS = ("echo", "whole", "words", "refused", "reported", "broken")


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PLAYGROUND_KEY_FILE", str(tmp_path / "key" / "master.key"))
    return tmp_path


@pytest.fixture(autouse=True)
def quiet_logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO):
        yield
    assert shows(caplog.text) is None


@asynccontextmanager
async def opened(
    home: Path, server: EchoServer, value: str, *tools: Tool, place: str = ""
) -> AsyncIterator[Runtime]:
    config = home / "config.toml"
    config.write_text(
        "".join(
            f'[models.{name}]\nprovider = "openai-chat"\nbase_url = "{server.url}/v1"\n'
            f'model = "{name}"\ncredential = "canary"\n'
            for name in MODELS
        )
        + f'[credentials.canary]\nhosts = ["{server.host}"]\n{place}'
    )
    async with open_runtime(home / "runs.db", config=config, tools=tools) as runtime:
        await runtime.secrets.set("canary", value, hosts=(server.host,), actor="test")
        yield runtime


async def followed(runtime: Runtime, request: RunRequest) -> list[Event]:
    run = await runtime.start(request)
    async with asyncio.timeout(30), run.events() as events:
        return [event async for event in events]


async def assert_clean(runtime: Runtime, home: Path) -> None:
    rows = await runtime.audit.page(AuditQuery(), limit=1000)
    assert shows(repr(rows)) is None
    assert shows_below(home) == {}


def assert_events_clean(events: list[Event]) -> None:
    for event in events:
        assert shows(repr(event)) is None, event.kind
        assert shows(str(to_json(event))) is None, event.kind
    for kind in ("text", "thinking"):
        assert shows(streamed(events, kind)) is None
    printed = "".join(event.text for event in events if isinstance(event, Output))
    assert shows(printed) is None


def streamed(events: list[Event], kind: str) -> str:
    return "".join(getattr(event, kind) for event in events if event.kind.value == "delta")


@tool(effect="pure")
def leak(text: str, context: ToolContext) -> str:
    """Tell what nobody should.

    Args:
        text: what to tell.
        context: where to print.
    """
    for value in CANARIES:
        for spelled in spellings(value):
            for char in f"{spelled} and {text}\n":
                context.output(char)
    return " ".join(spelled for value in CANARIES for spelled in spellings(value))


@pytest.mark.parametrize("value", CANARIES, ids=["shapeless", "shaped"])
@pytest.mark.parametrize("model", MODELS)
async def test_what_a_server_echoes_shows_nowhere(
    home: Path, server: EchoServer, value: str, model: str
) -> None:
    async with opened(home, server, value, leak) as runtime:
        await runtime.secrets.set("other", SHAPED if value == SHAPELESS else SHAPELESS, actor="t")
        request = RunRequest(
            prompt=f"say {value}", system=quote(value), model=model, raw=True,
            tools=("leak", "http_get"), max_rounds=3,
        )  # fmt: skip
        events = await followed(runtime, request)
        result = await runtime.handle(events[-1].run_id).wait()
        assert value in server.keys, "the server never saw the key"
        assert shows(repr(result)) is None
        assert_events_clean(events)
        assert [shows(body) for body in server.bodies] == [None] * len(server.bodies)
        responses = [event for event in events if isinstance(event, Response)]
        for kind in ("text", "thinking"):
            whole = "".join(getattr(response, kind) for response in responses)
            assert streamed(events, kind) == whole
        if model == "echo":
            assert any(isinstance(event, Output) for event in events)
            # The body had it in pieces, which no search could find.
            assert [response.raw == "[redacted]" for response in responses] == [True, False]
        if model in ("echo", "whole"):
            assert "[redacted] | [redacted]" in streamed(events, "text")
        await assert_clean(runtime, home)
    assert shows_below(home) == {}


async def test_a_run_that_goes_on_from_another_sends_no_secret(
    home: Path, server: EchoServer
) -> None:
    async with opened(home, server, SHAPELESS) as runtime:
        first = await followed(runtime, RunRequest(prompt="hello", model="whole"))
        await followed(runtime, RunRequest(prompt="and?", model="whole", after=first[0].run_id))
    assert "[redacted]" in server.bodies[1]
    assert shows(server.bodies[1]) is None


@pytest.mark.parametrize(
    "place",
    [
        'placement = "basic"\nusername = "me"\n',
        'placement = "header"\nfield = "X-Key"\n',
        'placement = "api_key"\nfield = "X-Key"\n',
    ],
)
async def test_it_shows_nowhere_however_it_travels(
    home: Path, server: EchoServer, place: str
) -> None:
    async with opened(home, server, SHAPELESS, leak, place=place) as runtime:
        for model in ("echo", "refused"):
            assert_events_clean(await followed(runtime, RunRequest(prompt="hi", model=model)))
        assert set(server.keys) == {SHAPELESS}
        await assert_clean(runtime, home)


async def test_an_access_token_shows_nowhere(home: Path, server: EchoServer) -> None:
    place = (
        'placement = "oauth2"\n[credentials.canary.oauth]\ngrant = "client_credentials"\n'
        f'client_id = "me"\nclient_secret = "client"\ntoken_url = "{server.url}/token"\n'
    )
    async with opened(home, server, SHAPELESS, leak, place=place) as runtime:
        await runtime.secrets.set("client", SHAPELESS, hosts=(server.host,), actor="test")
        for model in ("echo", "refused"):
            assert_events_clean(await followed(runtime, RunRequest(prompt="hi", model=model)))
        assert SHAPED in server.keys
        assert [shows(body) for body in server.bodies] == [None] * len(server.bodies)
        await assert_clean(runtime, home)
    assert shows_below(home) == {}


@tool(effect="pure")
def raises(how: str) -> str:
    """Fail with a secret.

    Args:
        how: which way.
    """
    try:
        raise ValueError(SHAPELESS)
    except ValueError as error:
        if how == "told":
            raise ToolError(f"bad {SHAPED}", f"no {SHAPELESS} {quote(SHAPELESS)}") from error
        raise RuntimeError(f"{SHAPED} {SHAPELESS}") from error


@pytest.mark.parametrize("how", ["told", "raised"])
async def test_what_a_tool_raises_shows_nowhere(
    home: Path, server: EchoServer, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import json

    from tests.security import echo_server as module

    def calls(self: module._Handler, _key: str, asked: dict[str, object]) -> None:
        told = "tool" in str(asked["messages"])
        call = {"index": 0, "id": "1", "function": {"name": "raises"}}
        call["function"] |= {"arguments": json.dumps({"how": how})}  # type: ignore[operator]
        self._stream([{"content": "ok"} if told else {"tool_calls": [call]}], "stop")

    monkeypatch.setattr(module._Handler, "_echo", calls)
    async with opened(home, server, SHAPELESS, raises) as runtime:
        await runtime.secrets.set("other", SHAPED, actor="test")
        events = await followed(runtime, RunRequest(prompt="go", model="echo", tools=("raises",)))
        failed = next(event for event in events if event.kind.value == "tool")
        assert "raised" in repr(failed) if how == "raised" else "[redacted]" in repr(failed)
        assert_events_clean(events)
        assert [shows(body) for body in server.bodies] == [None, None]
        await assert_clean(runtime, home)


async def test_requests_that_hold_it_leave_no_trace_of_it(home: Path, server: EchoServer) -> None:
    escaped = quote(SHAPELESS)
    async with opened(home, server, SHAPELESS) as runtime:
        await runtime.secrets.set("other", SHAPED, actor="test")
        client = runtime.http("canary")
        sent = Request(
            "POST",
            f"{server.url}/v1/{escaped}/{SHAPED}?q={escaped}&k={SHAPED}#{SHAPED}",
            (("User-Agent", f"agent {SHAPELESS}"), ("X-Key", SHAPED)),
            b'{"model": "refused", "x": "' + SHAPELESS.encode() + b'"}',
        )
        answer = await client.send(sent)
        assert answer.status == 401
        assert SHAPELESS.encode() in answer.body, "an answer is its caller's, as it came"
        errors: list[BaseException] = []
        for url in (
            f"http://127.0.0.1:1/{escaped}",
            f"http://me:{SHAPED}@{server.host}/",
            f"{server.url}/{SHAPELESS}",
            f"https://elsewhere.test/{escaped}?k={SHAPED}",
        ):
            for one in (client, client.with_timeout(0.000001)):
                with pytest.raises(HttpError) as raised:
                    await one.send(Request("GET", url, sent.headers))
                errors.append(raised.value)
        with pytest.raises(StepbrakeError) as refused:
            await runtime.secrets.set("canary", SHAPELESS + "\n", actor=SHAPELESS)
        errors.append(refused.value)
        with pytest.raises(StepbrakeError) as wrong:
            await runtime.secrets.rotate("canary", SHAPELESS + "\x00", actor=SHAPELESS)
        errors.append(wrong.value)
        for error in errors:
            for text in told_by(error):
                # The line of this test that made the request is no news.
                assert shows(text) is None or "Traceback" in text
        await assert_clean(runtime, home)
        rows = await runtime.audit.page(AuditQuery(), limit=100)
        assert any("[redacted]" in (row.path or "") for row in rows)
    assert shows_below(home) == {}


async def test_old_versions_and_copies_of_the_database_hold_nothing(
    home: Path, server: EchoServer
) -> None:
    async with opened(home, server, SHAPELESS) as runtime:
        for value in (SHAPED, SHAPELESS, SHAPED):
            await runtime.secrets.rotate("canary", value, actor=value)
            secret = await runtime.secrets.get("canary", actor=value)
            assert secret.reveal() == value
        await runtime.secrets.rotate_key(actor=SHAPED)
        await runtime.secrets.delete("canary", actor=SHAPELESS)
        await assert_clean(runtime, home)
    assert shows_below(home) == {}


def test_the_search_finds_every_spelling_and_every_end() -> None:
    for value in CANARIES:
        for spelled in spellings(value):
            assert shows(f"<<{spelled}>>") is not None, spelled
        assert shows(value[:9]) is not None
        assert shows(value[-9:].encode()) is not None
    assert shows("All quiet. [redacted]") is None
