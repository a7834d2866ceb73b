"""Runs whose outbound calls cannot be accounted for."""

from __future__ import annotations

import asyncio
from pathlib import Path

from core.config import Config, ModelEntry
from core.errors import AuditUnavailable
from core.model import (
    Response,
    RunStatus,
    StepOutcome,
    TerminationReason,
    Tool,
    Usage,
)
from core.model.audit import AuditRow
from core.store import AuditQuery
from core.tools import ToolContext, tool
from tests.core.runs.rig import Rig, only, rigged
from tests.fakes.demo_transport import BASE_URL, HOST
from tests.fakes.provider import Turn
from tests.fakes.resolver import FakeResolver
from tests.fakes.transport import ScriptedTransport
from tests.support.waiting import until

LOCAL = Config(
    models={"local": ModelEntry(name="local", provider="openai-chat", base_url=BASE_URL, model="x")}
)
STREAM = (
    b'data: {"choices": [{"index": 0, "delta": {"content": "bought"}}]}\n\n'
    b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
    b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}\n\n'
    b"data: [DONE]\n\n"
)


async def test_an_answer_outlives_an_outage_of_the_log_and_its_row_follows(
    tmp_path: Path,
) -> None:
    transport = ScriptedTransport()
    async with rigged(
        tmp_path, config=LOCAL, transport=transport, resolver=FakeResolver({HOST: ("127.0.0.1",)})
    ) as rig:
        run = await rig.start(model="local", tools=())
        transfer = await transport.next()
        rig.store.audit_down = True
        transfer.connected()
        transfer.head(200, (("content-type", "text/event-stream"),))
        transfer.data(STREAM)
        transfer.done()
        result, events = await rig.ended(run)
        assert (result.status, result.text) == (RunStatus.COMPLETED, "bought")
        assert only(events, Response).outcome is StepOutcome.OK
        assert await calls(rig) == []
        rig.store.audit_down = False
        rig.clock.advance(1.01)
        await until(lambda: rig.store.audit_available)
        (call_id,) = only(events, Response).call_ids
        async with asyncio.timeout(5):
            while not (rows := await calls(rig)):
                await asyncio.sleep(0)
    assert [(row.call_id, row.success) for row in rows] == [(call_id, True)]


async def calls(rig: Rig) -> list[AuditRow]:
    """Return the rows of outbound calls."""
    page = await rig.elsewhere.audit_page(AuditQuery())
    return [row for row in page if row.call_id is not None]


async def test_the_end_of_such_a_run_waits_for_the_store(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn()]) as rig:

        async def respond(*_: object, **__: object) -> None:
            rig.store.down = True
            raise AuditUnavailable("The disk is full")

        rig.provider.respond = respond  # type: ignore[assignment, method-assign]
        run = await rig.start()
        await rig.pass_time(10, step=0.5)
        assert run.id in rig.runtime.live
        rig.store.down = False
        result, events = await rig.outlast(rig.ended(run), most_s=2)
    assert result.termination_reason is TerminationReason.STORE_UNAVAILABLE
    assert only(events, Response).usage == Usage()


async def test_a_tool_call_that_cannot_be_accounted_for_is_an_error_result(
    tmp_path: Path,
) -> None:
    transport = ScriptedTransport()
    go_on = asyncio.Event()

    @tool(effect="pure")
    async def fetch(context: ToolContext) -> str:
        from core.http import Request as Outbound

        await go_on.wait()
        response = await context.http.send_cancellable(
            Outbound("GET", f"https://{HOST}/x"), context.signal
        )
        return str(response.status)

    turns = [Turn(calls=[("fetch", "{}")]), Turn("so be it")]
    async with rigged(
        tmp_path,
        turns,
        fetch,
        transport=transport,
        resolver=FakeResolver({HOST: ("93.184.216.34",)}),
    ) as rig:
        run = await rig.start()
        rig.store.audit_down = True
        go_on.set()
        result, events = await rig.ended(run)
    found = only(events, Tool)
    assert (found.outcome, found.executed) == (StepOutcome.ERROR, True)
    assert found.result.startswith("Error: ")
    assert found.error is not None
    assert transport.transfers == []
    assert result.text == "so be it"
