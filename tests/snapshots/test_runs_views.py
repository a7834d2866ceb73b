from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from core.model import RunStatus
from playground.widgets.runs_table import RunsTable
from screenshots import scenes
from screenshots.scenes import NARROW, NORMAL, WIDE, Stage

Compare = Callable[..., bool]


@pytest.mark.parametrize("size", [WIDE, NORMAL, NARROW], ids=["120x36", "80x24", "60x20"])
def test_runs_list_shows_every_state(
    snap_compare: Compare, tmp_path: Path, size: tuple[int, int]
) -> None:
    app = Stage(tmp_path)
    seen: list[str] = []

    async def play(pilot: Pilot[None]) -> None:
        await scenes.runs(app, pilot)
        rows = app.screen.query_one(RunsTable).runs.rows
        seen.extend("cancelling" if row.cancelling else row.status.value for row in rows)

    assert snap_compare(app, terminal_size=size, run_before=play)
    assert seen == [
        "cancelling",
        RunStatus.RUNNING,
        RunStatus.CANCELLED,
        RunStatus.FAILED,
        RunStatus.COMPLETED,
    ]


def test_runs_empty_says_how_to_make_one(snap_compare: Compare, tmp_path: Path) -> None:
    app = Stage(tmp_path)
    empty: list[bool] = []

    async def play(pilot: Pilot[None]) -> None:
        await scenes.no_runs(app, pilot)
        empty.append(app.screen.has_class("-empty"))

    assert snap_compare(app, terminal_size=NORMAL, run_before=play)
    assert empty == [True]
