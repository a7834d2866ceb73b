from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from core import RunRequest, Runtime
from core.model import AuditAction
from core.store import SqliteStore
from playground.app import PlaygroundApp
from playground.screens.audit import AuditScreen
from playground.state.audit import Proof
from playground.widgets.audit_pane import AuditPane
from tests.core.audit.logs import tampering
from tests.playground.audit_log import entry
from tests.support.runtime import open_store, scripted_runtime
from tests.support.waiting import until

A = AuditAction
ROWS = 100_000


async def fill(store: SqliteStore, rows: int) -> None:
    for low in range(0, rows, 4_000):
        await asyncio.gather(
            *(
                store.append_audit(
                    entry(number, A.HTTP_CALL_CANCELLED if number % 7 == 3 else A.HTTP_CALL)
                )
                for number in range(low, min(low + 4_000, rows))
            )
        )


async def filled(path: Path, rows: int) -> Path:
    store = await open_store(path / "playground.db")
    await fill(store, rows)
    await store.close()
    return path


@asynccontextmanager
async def on_audit_screen(
    runtime: Runtime,
) -> AsyncIterator[tuple[PlaygroundApp, Pilot[None], AuditPane]]:
    app = PlaygroundApp(runtime, clock=runtime.clock)
    app.animation_level = "none"
    async with app.run_test(size=(140, 36)) as pilot:
        await pilot.press("f3")
        await until(lambda: isinstance(app.screen, AuditScreen))
        pane = app.screen.query_one(AuditPane)
        await until(lambda: pane.is_mounted and pane.idle)
        await pilot.pause()
        yield app, pilot, pane


def top_line(pane: AuditPane) -> str:
    return pane.table.render_line(0).text


async def seq_at(pane: AuditPane, index: int) -> int:
    pane.table.scroll_to(y=index, animate=False)
    await until(lambda: pane.table.window[0] == index and pane.idle)
    row = pane.reader.pages.row(index)
    assert row is not None
    return row.seq


async def test_a_hundred_thousand_rows_of_a_real_log_scroll_filter_and_verify(
    tmp_path: Path,
) -> None:
    await filled(tmp_path, ROWS)
    async with (
        scripted_runtime(tmp_path) as runtime,
        on_audit_screen(runtime) as (app, pilot, pane),
    ):
        mounted = len(app.screen.query("*"))
        assert pane.table.row_count == ROWS
        await pilot.press("end")
        await until(lambda: pane.idle and pane.table.current is not None)
        assert pane.table.current is not None
        assert pane.table.current.seq == 1
        for place in (70_000, 123, 99_000, 50_000):
            assert (await seq_at(pane, place)) == ROWS - place
        pane.filter_by((A.HTTP_CALL_CANCELLED,))
        await until(lambda: pane.idle and pane.table.row_count < ROWS)
        await pilot.pause()
        assert pane.table.row_count == len(range(3, ROWS, 7))
        cancelled = range(3, ROWS, 7)
        assert (await seq_at(pane, 9_000)) == cancelled[-1 - 9_000] + 1
        await pilot.press("v")
        await until(lambda: pane.verified.proof is Proof.LINKED)
        assert pane.verified.label(ROWS).startswith("✓ 100 000 linked · head ")
        assert len(app.screen.query("*")) == mounted


async def test_the_calls_of_a_run_appear_as_they_are_made_and_lead_back_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYGROUND_DEMO_PACE", "0")
    async with (
        scripted_runtime(tmp_path) as runtime,
        on_audit_screen(runtime) as (app, pilot, pane),
    ):
        before = pane.table.row_count
        result = await runtime.run(RunRequest(prompt="What is the weather?", model="demo"))
        await until(lambda: pane.table.row_count >= before + 4 and pane.idle)
        assert pane.counts[A.HTTP_CALL] == 4
        await until(lambda: "http_call" in top_line(pane))
        await pilot.press("o")
        await until(lambda: app.current_mode == "run")
        await until(lambda: app.run_screen.view and app.run_screen.view.run_id == result.run_id)


async def test_an_edited_row_turns_the_badge_red_and_unreadable_ones_are_named(
    tmp_path: Path,
) -> None:
    await filled(tmp_path, 250)
    with tampering(tmp_path / "playground.db") as connection:
        connection.execute("UPDATE audit SET host = 'other.example' WHERE seq = 17")
        connection.execute("UPDATE audit SET action = 'no_such_action' WHERE seq = 246")
        connection.execute("DELETE FROM audit WHERE seq = 243")
        connection.commit()
    async with scripted_runtime(tmp_path) as runtime, on_audit_screen(runtime) as (_, pilot, pane):
        lines = [pane.table.render_line(y).text for y in range(12)]
        assert "✗ seq 246 is missing or cannot be read" in lines[4]
        assert "✗ seq 243 is missing or cannot be read" in lines[7]
        await pilot.press("v")
        await until(lambda: pane.verified.proof is Proof.BROKEN)
        assert pane.has_class("-broken")
        assert pane.verified.first_bad == 17
        await until(lambda: pane.idle and pane.table.current is not None)
        assert pane.table.current is not None
        assert pane.table.current.seq == 17
