from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import RequestCancelled, RequestRefused, TransportFailed
from core.http import Fault
from core.model import AuditAction, Effect
from core.tools import Tool, ToolError, builtin_tools
from core.vault import Credential
from tests.core.tools.rig import ToolRig

TOOLS: dict[str, Tool] = {tool.name: tool for tool in builtin_tools()}
KEY = Credential("key", "bearer", "Authorization", ("api.example.com",))
URL = "https://api.example.com/forecast?city=Faro"


def fetch(rig: ToolRig, url: str = URL) -> asyncio.Task[str]:
    return asyncio.create_task(TOOLS["http_get"].run(json.dumps({"url": url}), rig.context))


def test_builtin_tools_are_pure_and_documented() -> None:
    assert set(TOOLS) == {"get_weather", "http_get", "slow_count"}
    for tool in TOOLS.values():
        assert tool.effect is Effect.PURE
        assert tool.description
        assert all(field["description"] for field in tool.parameters["properties"].values())


async def test_weather_is_the_same_every_time_and_differs_by_city() -> None:
    rig = ToolRig()

    async def weather(city: str) -> str:
        return await TOOLS["get_weather"].run(json.dumps({"city": city}), rig.context)

    assert await weather("Lisbon") == await weather(" lisbon ".title().strip())
    assert json.loads(await weather("Lisbon"))["city"] == "Lisbon"
    assert await weather("Lisbon") != await weather("Faro")
    assert rig.transport.transfers == []
    with pytest.raises(ToolError, match="at least 1"):
        await weather("")


async def test_get_sends_the_credential_bound_to_the_host_and_gives_status_and_body() -> None:
    rig = ToolRig(KEY)
    task = fetch(rig)
    transfer = await rig.transport.next()
    assert rig.asked == [URL]
    assert transfer.header("authorization") == "Bearer s3cr3t-canary"
    assert transfer.request.method == "GET"
    transfer.answer(404, b'{"error": "no such city"}')
    assert await task == 'HTTP 404\n\n{"error": "no such city"}'
    assert rig.audit.only.action is AuditAction.HTTP_CALL
    assert rig.audit.only.credential == "key"


async def test_get_without_a_bound_credential_carries_none() -> None:
    rig = ToolRig()
    task = fetch(rig)
    transfer = await rig.transport.next()
    assert transfer.header("authorization") is None
    transfer.answer(200, b"plain \xff bytes")
    assert await task == "HTTP 200\n\nplain \\xff bytes"


async def test_long_body_is_clipped_with_exact_counts() -> None:
    rig = ToolRig()
    task = fetch(rig)
    (await rig.transport.next()).answer(200, b"z" * 100_000)
    result = await task
    assert result.endswith("\n[clipped: 65,536 of 100,000 characters kept]")
    assert result.count("z") == 65_536


async def test_signal_ends_a_get_in_flight() -> None:
    rig = ToolRig(KEY)
    task = fetch(rig)
    transfer = await rig.transport.next()
    rig.signal.set()
    assert transfer.aborted
    with pytest.raises(RequestCancelled):
        await task
    assert rig.audit.only.action is AuditAction.HTTP_CALL_CANCELLED


async def test_failures_of_a_get_keep_their_codes() -> None:
    rig = ToolRig()
    with pytest.raises(RequestRefused) as refused:
        await fetch(rig, "http://api.example.com/")
    assert refused.value.code
    task = fetch(rig)
    (await rig.transport.next()).fail(Fault.LOST, 56)
    with pytest.raises(TransportFailed) as lost:
        await task
    assert lost.value.number == 56


async def counted(rig: ToolRig, pieces: int) -> None:
    async with asyncio.timeout(5):
        while len(rig.shown) < pieces:
            rig.clock.advance(1.0)
            await asyncio.sleep(0)


async def test_count_shows_a_piece_a_second() -> None:
    rig = ToolRig()
    task = asyncio.create_task(TOOLS["slow_count"].run('{"seconds": 3}', rig.context))
    await asyncio.sleep(0)
    assert rig.shown == []
    await counted(rig, 3)
    assert await task == "Counted to 3."
    assert rig.shown == ["1\n", "2\n", "3\n"]
    assert rig.clock.monotonic() >= 3


async def test_count_stops_at_once_when_told_to() -> None:
    rig = ToolRig()
    task = asyncio.create_task(TOOLS["slow_count"].run("{}", rig.context))
    await asyncio.sleep(0)
    await counted(rig, 2)
    rig.signal.set()
    with pytest.raises(RequestCancelled) as caught:
        await task
    assert caught.value.code == "tool_stopped"
    assert rig.shown == ["1\n", "2\n"]


async def test_count_that_is_stopped_before_it_begins_shows_nothing() -> None:
    rig = ToolRig()
    rig.signal.set()
    with pytest.raises(RequestCancelled):
        await TOOLS["slow_count"].run("{}", rig.context)
    assert rig.shown == []


def test_importing_the_package_is_cheap() -> None:
    code = (
        "import sys, core.tools\n"
        "loaded = {'pydantic', 'pycurl', 'aiosqlite'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])
