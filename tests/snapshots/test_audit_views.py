from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from core.model import AuditAction
from playground.state.audit import Proof
from playground.widgets.audit_pane import AuditPane
from screenshots import scenes
from screenshots.scenes import NARROW, NORMAL, WIDE, Stage

Play = Callable[[Stage, Pilot[None]], Awaitable[object]]
Compare = Callable[..., bool]
SIZES = pytest.mark.parametrize("size", [WIDE, NORMAL, NARROW], ids=["120x36", "80x24", "60x20"])


class Picture:
    """One snapshot: plays a scene, looks at the pane behind it, compares what is drawn."""

    def __init__(self, compare: Compare, path: Path) -> None:
        self._compare = compare
        self._path = path

    def __call__(
        self, play: Play, size: tuple[int, int], check: Callable[[AuditPane], Any], rows: int = 300
    ) -> bool:
        app = Stage(self._path, rows=rows)
        seen: list[AuditPane] = []

        async def played(pilot: Pilot[None]) -> None:
            await play(app, pilot)
            pane = app.screen.query_one(AuditPane)
            check(pane)
            seen.append(pane)

        same = self._compare(app, terminal_size=size, run_before=played)
        assert seen
        return same


@pytest.fixture
def picture(snap_compare: Compare, tmp_path: Path) -> Picture:
    return Picture(snap_compare, tmp_path)


@SIZES
def test_audit_log_newest_first_with_facets(picture: Picture, size: tuple[int, int]) -> None:
    def check(pane: AuditPane) -> None:
        assert pane.table.row_count == 300
        assert pane.following
        assert pane.counts[AuditAction.HTTP_CALL_CANCELLED] == 30

    assert picture(scenes.audit, size, check)


@SIZES
def test_audit_filtered_to_exposed_credentials_and_verified(
    picture: Picture, size: tuple[int, int]
) -> None:
    def check(pane: AuditPane) -> None:
        assert pane.reader.actions == (AuditAction.HTTP_CALL_CANCELLED,)
        assert pane.table.row_count == 120
        assert pane.verified.proof is Proof.LINKED

    assert picture(scenes.filtered, size, check, rows=1_204)


@SIZES
def test_audit_detail_says_what_the_action_means(picture: Picture, size: tuple[int, int]) -> None:
    def check(pane: AuditPane) -> None:
        assert pane.has_class("-detail")
        assert pane.detail.row is not None
        assert pane.detail.row.action is AuditAction.HTTP_CALL_CANCELLED

    assert picture(scenes.detail, size, check)


def test_audit_empty_says_how_to_fill_it(picture: Picture) -> None:
    def check(pane: AuditPane) -> None:
        assert pane.has_class("-void")

    assert picture(scenes.audit, NORMAL, check, rows=0)


def test_audit_wrong_filter_is_explained(picture: Picture) -> None:
    async def play(app: Stage, pilot: Pilot[None]) -> None:
        await scenes.audit(app, pilot)
        await pilot.press("slash", *"http_canceled")
        await scenes.hold_still(pilot)

    def check(pane: AuditPane) -> None:
        assert pane.hint.has_class("-error")

    assert picture(play, NORMAL, check)


@SIZES
def test_audit_beside_a_live_run(picture: Picture, size: tuple[int, int]) -> None:
    def check(pane: AuditPane) -> None:
        assert pane.table.row_count == 60
        assert pane.app.query_one(AuditPane) is pane

    assert picture(scenes.beside_run, size, check, rows=60)
