from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import cycle, islice
from xml.etree import ElementTree

from textual.widgets import Input

from core.model import AuditAction, RunRow
from tests.cases import cases
from tests.fakes.clock import FakeClock
from tests.playground.audit_app import audit_app
from tests.playground.audit_log import FakeAuditLog, entry
from tests.playground.runs_rows import run
from tests.playground.test_runs_screen import runs_app
from tests.support.waiting import until

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def hostile() -> list[str]:
    found: list[str] = []
    for name in ("hostile-terminal.json", "naughty-strings.json"):
        found += strings(json.loads((cases("text") / name).read_text("utf-8")))
    assert len(found) > 100
    return found


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for item in value.values() for text in strings(item))
    elif isinstance(value, list):
        yield from (text for item in value for text in strings(item))


def harmless(svg: str, lines: list[str]) -> None:
    ElementTree.fromstring(svg)
    assert not CONTROLS.search(svg.replace("\n", ""))
    assert not any(CONTROLS.search(line) for line in lines)


async def test_foreign_text_in_any_field_of_a_row_stays_text_in_table_and_detail() -> None:
    texts = hostile()
    fields = ("host", "path", "method", "credential", "run_id", "step", "call_id", "message")
    log = FakeAuditLog(
        entry(number, AuditAction.HTTP_CALL, actor=text, **dict.fromkeys(fields, text))
        for number, text in enumerate(texts)
    )
    async with audit_app(log, (140, 40)) as (app, pilot):
        table = app.pane.table
        for top in range(0, table.row_count, table.size.height):
            table.scroll_to(y=top, animate=False)
            await until(lambda: app.pane.idle)
            harmless(app.export_screenshot(), app.lines())
        app.pane.open_detail()
        for index in range(0, table.row_count, max(1, table.row_count // 14)):
            table.selected = index
            await until(lambda index=index: app.pane.detail.row is table.pages.row(index))  # type: ignore[misc]
            await pilot.pause()
            harmless(app.export_screenshot(), app.lines())


async def test_foreign_text_in_the_filter_bar_stays_text_and_is_quoted_harmlessly() -> None:
    async with audit_app(FakeAuditLog([entry(1)])) as (app, pilot):
        bar = app.pane.query_one("#audit-filter", Input)
        for text in islice(hostile(), 0, None, 24):
            bar.value = text.replace("\n", " ") + " "
            await pilot.pause()
            harmless(app.export_screenshot(), [])


async def test_foreign_text_in_a_prompt_or_a_model_name_stays_text_in_the_list() -> None:
    now = FakeClock().now_us()
    texts = hostile()
    rows: list[RunRow] = [
        run(number, now, prompt=text[:200], model=other, cancel_by=other)
        for number, (text, other) in enumerate(zip(texts, cycle(texts[7:]), strict=False))
    ]
    async with runs_app(rows[:90]) as (app, _, _source):
        for top in range(0, 90, app.runs.table.size.height):
            app.runs.table.scroll_to(y=top, animate=False)
            harmless(app.export_screenshot(), app.lines)
