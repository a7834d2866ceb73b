from __future__ import annotations

import pytest

from core.model import AuditAction
from playground.state.audit import Proof
from tests.playground.audit_app import AuditApp, audit_app, day, settled
from tests.playground.audit_log import FakeAuditLog, Found, entry
from tests.support.waiting import until

A = AuditAction


def shown(app: AuditApp) -> tuple[AuditAction, ...]:
    return app.pane.reader.actions


async def test_rows_stand_newest_first_with_facets_and_their_counts() -> None:
    log = FakeAuditLog(day(40))
    async with audit_app(log) as (app, _):
        assert "http_call" in app.lines()[0]
        assert [row.seq for index in range(3) if (row := app.pane.reader.pages.row(index))] == [
            40,
            39,
            38,
        ]
        counts = {facet.name: facet.rows for facet in app.pane.facets.facets}
        assert counts["all actions"] == 40
        assert counts["http_call_cancelled"] == 4
        assert app.title_line.startswith("audit · 40 rows")


async def test_new_rows_slide_in_while_the_reader_is_at_the_top() -> None:
    log = FakeAuditLog(day(200))
    async with audit_app(log) as (app, _):
        log.append(entry(900, path="/new"))
        await until(lambda: "/new" in app.lines()[0])
        assert app.pane.table.selected == 0
        assert app.pane.following


async def test_the_view_keeps_its_place_when_the_reader_is_elsewhere() -> None:
    log = FakeAuditLog(day(200))
    async with audit_app(log) as (app, pilot):
        await pilot.press("pagedown", "pagedown")
        await settled(app)
        lines, row = app.lines(), app.pane.table.current
        log.append(*(entry(900 + number, path="/new") for number in range(3)))
        await until(lambda: "↑ 3 newer" in app.title_line)
        await settled(app)
        assert app.lines() == lines
        assert app.pane.table.current == row
        await pilot.press("home")
        await until(lambda: "/new" in app.lines()[0])
        assert "newer" not in app.title_line


async def test_picking_facets_filters_by_any_of_them_and_writes_the_query() -> None:
    async with audit_app(FakeAuditLog(day(100))) as (app, pilot):
        await pilot.press("f", "down", "down", "enter")
        await settled(app)
        assert shown(app) == (A.HTTP_CALL_CANCELLED,)
        assert app.pane.bar.value == "action:http_call_cancelled"
        assert app.title_line.startswith("audit · 10 of 100 rows")
        assert all("http_call_cancelled" in line for line in app.lines()[:10])
        await pilot.press("down", "space")
        await settled(app)
        assert set(shown(app)) == {A.HTTP_CALL_CANCELLED, A.HTTP_CALL_CANCELLED_BEFORE_SEND}
        await pilot.press("x")
        await settled(app)
        assert shown(app) == ()
        assert app.pane.bar.value == ""


async def test_clicking_a_facet_picks_it() -> None:
    async with audit_app(FakeAuditLog(day(100))) as (app, pilot):
        await pilot.click("#audit-actions", offset=(4, 2))
        await settled(app)
        assert shown(app) == (A.HTTP_CALL_CANCELLED,)


async def test_a_typed_query_filters_as_soon_as_it_is_whole() -> None:
    async with audit_app(FakeAuditLog(day(100))) as (app, pilot):
        await pilot.press("slash", *"secret_create")
        assert shown(app) == ()
        await pilot.press("d")
        await until(lambda: shown(app) == (A.SECRET_CREATED,))
        await settled(app)
        chosen = [facet.name for facet in app.pane.facets.facets if facet.chosen]
        assert chosen == ["secret_created"]
        await pilot.press("enter")
        assert app.focused is app.pane.table


async def test_tab_completes_an_action_name() -> None:
    async with audit_app(FakeAuditLog(day(100))) as (app, pilot):
        await pilot.press("slash", *"run_c")
        assert app.pane.hint.has_class("-offer")
        await pilot.press("tab")
        await settled(app)
        assert app.pane.bar.value == "action:run_cancel_requested "
        assert shown(app) == (A.RUN_CANCEL_REQUESTED,)
        await pilot.press("tab")
        assert app.focused is not app.pane.bar


async def test_a_wrong_query_is_explained_under_the_bar_and_keeps_the_rows() -> None:
    async with audit_app(FakeAuditLog(day(100))) as (app, pilot):
        before = app.lines()
        hint = app.pane.hint
        await pilot.press("slash", *"http_cal")
        assert not hint.has_class("-error")
        await pilot.press("space")
        await until(lambda: hint.has_class("-error"))
        assert str(hint.render()) == "✗ column 1: no action “http_cal” · nearest: http_call"
        await settled(app)
        assert app.lines()[:10] == before[:10]
        await pilot.press("backspace", "l")
        await until(lambda: not hint.has_class("-error"))
        assert shown(app) == (A.HTTP_CALL,)


@pytest.mark.parametrize("size", [(120, 36), (80, 12)])
async def test_enter_opens_the_whole_row_and_escape_closes_it(size: tuple[int, int]) -> None:
    log = FakeAuditLog(day(100))
    async with audit_app(log, size) as (app, pilot):
        await pilot.press("down", "enter")
        await until(lambda: app.pane.detail.row is not None)
        detail = app.pane.detail
        assert detail.display
        assert detail.row == log.rows[-2]
        said = str(detail.query_one("SafeStatic").render())
        for text in ("99", "Stopped before anything", log.rows[-2].mac.hex(), "api.example.com"):
            assert text in said
        await pilot.press("escape")
        assert not detail.display
        assert app.focused is app.pane.table


async def test_an_open_row_stays_while_new_ones_arrive_and_follows_the_cursor() -> None:
    log = FakeAuditLog(day(100))
    async with audit_app(log, (120, 36)) as (app, pilot):
        await pilot.press("enter")
        opened = log.rows[-1]
        log.append(entry(901), entry(902))
        await until(lambda: app.pane.table.row_count == 102)
        await settled(app)
        assert app.pane.detail.row == opened
        await pilot.press("down")
        await until(lambda: app.pane.detail.row == log.rows[-4])


async def test_o_asks_for_the_run_and_step_of_the_row() -> None:
    log = FakeAuditLog([entry(1), entry(2, run_id=None)])
    async with audit_app(log) as (app, pilot):
        await pilot.press("o")
        assert app.opened == []
        await pilot.press("down", "o")
        await until(lambda: app.opened)
        assert app.opened == [(log.rows[0].run_id, "r1.m1")]


async def test_verifying_shows_what_is_linked_and_what_came_since() -> None:
    log = FakeAuditLog(day(1_204))
    async with audit_app(log) as (app, pilot):
        assert "v verifies" in app.title_line
        await pilot.press("v")
        await until(lambda: app.pane.verified.proof is Proof.LINKED)
        head = log.rows[-1].mac.hex()[:4]
        assert f"✓ 1 204 linked · head {head}…" in app.title_line
        log.append(entry(2_000))
        await until(lambda: "· 1 since" in app.title_line)


async def test_a_broken_chain_is_named_and_the_cursor_goes_to_its_first_bad_row() -> None:
    log = FakeAuditLog(day(300))
    log.findings = [Found("edited", 17), Found("missing", 40)]
    async with audit_app(log) as (app, pilot):
        await pilot.press("v")
        await until(lambda: app.pane.verified.proof is Proof.BROKEN)
        assert "✗ edited at seq 17 · 2 findings" in app.title_line
        await settled(app)
        assert app.pane.table.current == log.rows[16]
        await pilot.press("enter")
        said = str(app.pane.detail.query_one("SafeStatic").render())
        assert "this row is edited" in said


async def test_a_log_that_cannot_be_read_is_said_and_tried_again() -> None:
    log = FakeAuditLog(day(50))
    async with audit_app(log) as (app, pilot):
        log.down = True
        await pilot.press("v")
        await until(lambda: "not verified" in app.title_line)
        log.append(entry(99, path="/late"))
        hint = app.pane.hint
        await until(lambda: hint.has_class("-error"))
        log.down = False
        await until(lambda: "/late" in app.lines()[0])
        assert not hint.has_class("-error")


async def test_an_empty_log_says_what_will_stand_here_and_fills_when_a_row_comes() -> None:
    log = FakeAuditLog()
    async with audit_app(log) as (app, _):
        assert app.pane.has_class("-empty")
        log.append(entry(1))
        await until(lambda: not app.pane.has_class("-empty"))
        await until(lambda: "http_call" in "".join(app.lines()))


async def test_leaving_the_pane_lets_go_of_the_log() -> None:
    log = FakeAuditLog(day(10))
    async with audit_app(log) as (app, _):
        assert log.subscribers == 1
        await app.pane.remove()
        assert log.subscribers == 0


async def test_many_appends_are_one_look_at_the_log() -> None:
    log = FakeAuditLog(day(50))
    async with audit_app(log) as (app, _):
        asked = len(log.pages)
        for number in range(500):
            log.append(entry(1_000 + number))
        await until(lambda: app.pane.table.row_count == 550)
        await settled(app)
        assert len(log.pages) - asked <= 4


async def test_a_hundred_thousand_rows_scroll_and_nothing_is_mounted_for_them() -> None:
    log = FakeAuditLog(entry(number) for number in range(100_000))
    async with audit_app(log) as (app, pilot):
        mounted = len(app.pane.query("*"))
        log.pages.clear()
        await pilot.press("end")
        await settled(app)
        assert app.pane.table.current == log.rows[0]
        assert len(log.pages) <= 2
        app.pane.table.scroll_to(y=50_000, animate=False)
        await until(lambda: app.pane.table.window[0] == 50_000)
        await settled(app)
        assert len(log.pages) <= 4
        assert sum(limit for _, _, limit in log.pages) <= 400
        assert len(app.pane.query("*")) == mounted


async def test_a_row_that_the_log_has_lost_is_named_in_its_place() -> None:
    log = FakeAuditLog(day(60))
    del log.rows[-3]
    async with audit_app(log) as (app, _):
        assert "✗ seq 58 is missing" in app.lines()[2]
