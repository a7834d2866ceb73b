"""The scene ``oauth``: a token first, and what a stop in that moment leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import CancelLevel, Runtime, open_runtime
from core.demo import DemoServer
from core.model import AuditAction, RunRequest, RunStatus
from core.runtime import Run
from core.store import AuditQuery
from tests.support.waiting import until

CALL, LEG = AuditAction.HTTP_CALL, AuditAction.OAUTH_TOKEN_REQUEST
EXPOSED = AuditAction.HTTP_CALL_CANCELLED
UNSENT = AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND


async def rows(runtime: Runtime) -> list[tuple[AuditAction, bool, str | None]]:
    page = await runtime.audit.page(AuditQuery())
    mine = [row for row in reversed(page) if row.call_id is not None]
    return [(row.action, row.success, row.credential) for row in mine]


async def asked(runtime: Runtime, server: DemoServer) -> Run:
    """Start a run and wait until its token request is at the server."""
    run = await runtime.start(RunRequest(prompt="hello", model="demo/oauth"))
    await until(lambda: server.stats()["requests"], "the token request")
    return run


async def test_it_asks_for_a_token_once_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYGROUND_DEMO_PACE", "0")
    async with open_runtime(tmp_path / "x.db") as runtime:
        for _ in range(2):
            result = await runtime.run(RunRequest(prompt="hello", model="demo/oauth"))
            assert result.status is RunStatus.COMPLETED
            assert "access token first" in result.text
        assert await rows(runtime) == [
            (LEG, True, "demo"),
            (CALL, True, "demo-oauth"),
            (CALL, True, "demo-oauth"),
        ]
        assert runtime.audit.verify().ok


async def test_an_abort_while_the_token_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = DemoServer(pace=1_000)
    await server.start()
    monkeypatch.setenv("PLAYGROUND_DEMO_URL", server.url)
    async with open_runtime(tmp_path / "x.db") as runtime:
        run = await asked(runtime, server)
        await run.cancel(CancelLevel.ABORT)
        result = await run.wait()
        assert result.status is RunStatus.CANCELLED
        assert result.receipt is not None
        assert result.receipt.credentials_exposed == ("demo",)
        found = await rows(runtime)
        assert sorted(found) == sorted([(EXPOSED, False, "demo"), (UNSENT, False, "demo-oauth")])
        await until(lambda: server.stats()["requests"][0]["end"] == "disconnected")
        (only,) = server.stats()["requests"]
        assert (only["kind"], only["run_id"]) == ("api", run.id)
    await server.close()


async def test_a_boundary_stop_from_elsewhere_lets_the_token_come_and_sends_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = DemoServer(pace=0.1)
    await server.start()
    monkeypatch.setenv("PLAYGROUND_DEMO_URL", server.url)
    async with open_runtime(tmp_path / "x.db") as runtime, open_runtime(tmp_path / "x.db") as other:
        run = await asked(runtime, server)
        receipt = await other.cancel(run.id)
        assert [step.kind for step in receipt.in_flight] == ["request"]
        result = await run.wait()
        assert result.status is RunStatus.CANCELLED
        assert result.usage.output_tokens == 0
        assert await rows(runtime) == [(LEG, True, "demo"), (UNSENT, False, "demo-oauth")]
        assert [request["kind"] for request in server.stats()["requests"]] == ["api"]
    await server.close()
