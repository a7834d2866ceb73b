"""A stop while a real client has a call in flight: what the receipt and the audit log say."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.config import Config, ModelEntry
from core.errors import RequestCancelled
from core.http import CancelSignal, Request
from core.model import AuditAction, CancelLevel, Response, RunStatus, StepOutcome, Tool
from core.store import AuditQuery
from core.tools import ToolContext, tool
from tests.core.runs.rig import only, rigged, settle
from tests.fakes.demo_transport import BASE_URL, HOST
from tests.fakes.provider import Turn
from tests.fakes.resolver import FakeResolver
from tests.fakes.transport import ScriptedTransport
from tests.support.waiting import until


@pytest.mark.parametrize("credential", ["key", None])
async def test_an_abort_cuts_the_call_at_once_and_names_it_and_its_credential(
    tmp_path: Path, credential: str | None
) -> None:
    entry = ModelEntry(
        name="local", provider="openai-chat", base_url=BASE_URL, model="x", credential=credential
    )
    transport = ScriptedTransport()
    async with rigged(
        tmp_path,
        config=Config(models={"local": entry}),
        transport=transport,
        resolver=FakeResolver({HOST: ("127.0.0.1",)}),
    ) as rig:
        await rig.runtime.secrets.set("key", "k3y", hosts=(f"{HOST}:80",), actor="t")
        run = await rig.start(model="local", tools=())
        transfer = await transport.next()
        transfer.connected()
        transfer.head(200, (("content-type", "text/event-stream"),))
        transfer.data(b'data: {"choices": [{"index": 0, "delta": {"content": "half"}}]}\n\n')
        await settle()
        await run.cancel()
        assert not transfer.aborted
        await run.cancel(CancelLevel.ABORT)
        assert transfer.aborted
        result, events = await rig.ended(run)
        action = (
            AuditAction.HTTP_CALL_CANCELLED
            if credential
            else AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL
        )
        (row,) = await rig.runtime.audit.page(AuditQuery(actions=(action,)))
    response = only(events, Response)
    assert (response.outcome, response.text) == (StepOutcome.INTERRUPTED, "half")
    assert response.call_ids == (row.call_id,)
    assert (row.run_id, row.step, row.credential) == (run.id, response.step, credential)
    assert result.receipt is not None
    assert result.receipt.calls_aborted == (row.call_id,)
    assert result.receipt.credentials_exposed == ((credential,) if credential else ())


async def test_a_boundary_stop_cuts_no_call(tmp_path: Path) -> None:
    entry = ModelEntry(name="local", provider="openai-chat", base_url=BASE_URL, model="x")
    transport = ScriptedTransport()
    async with rigged(
        tmp_path,
        config=Config(models={"local": entry}),
        transport=transport,
        resolver=FakeResolver({HOST: ("127.0.0.1",)}),
    ) as rig:
        run = await rig.start(model="local", tools=())
        transfer = await transport.next()
        await run.cancel()
        transfer.answer(
            200,
            b'{"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}',
            content_type="application/json",
        )
        result, events = await rig.ended(run)
    assert (result.status, result.text) == (RunStatus.CANCELLED, "whole")
    assert only(events, Response).outcome is StepOutcome.OK
    assert result.receipt is not None
    assert (result.receipt.calls_aborted, result.receipt.credentials_exposed) == ((), ())


async def test_a_call_that_a_tool_gave_up_before_the_stop_is_not_what_the_stop_did(
    tmp_path: Path,
) -> None:
    lost_patience = CancelSignal()

    @tool(effect="pure")
    async def impatient(context: ToolContext) -> str:
        client = context.http.with_allow((f"{HOST}:80",))
        try:
            await client.send_cancellable(Request("GET", f"http://{HOST}/"), lost_patience)
        except RequestCancelled:
            return "too slow"
        return "in time"

    transport = ScriptedTransport()
    turns = [Turn("hm", calls=[("impatient", "{}")]), Turn("so be it", hold=True)]
    async with rigged(
        tmp_path,
        turns,
        impatient,
        transport=transport,
        resolver=FakeResolver({HOST: ("127.0.0.1",)}),
    ) as rig:
        run = await rig.start()
        (await transport.next()).connected()
        lost_patience.set()
        await until(rig.provider.holding.is_set)
        await run.cancel(CancelLevel.ABORT)
        result, events = await rig.ended(run)
    given_up = only(events, Tool)
    assert (given_up.result, len(given_up.call_ids)) == ("too slow", 1)
    assert result.receipt is not None
    assert (result.receipt.calls_aborted, result.receipt.credentials_exposed) == ((), ())
