from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.model import CancelLevel, RunRow, RunStatus
from playground.state import runs as state
from playground.state.runs import RunList
from tests.playground.runs_rows import run, some_runs

NOW = 1_796_040_000_000_000
S = RunStatus


def ids(rows: RunList) -> list[str]:
    return [row.run_id for row in rows.rows]


def pages(rows: list[RunRow], limit: int) -> RunList:
    merged = RunList()
    while not merged.complete:
        before = merged.rows[-1].run_id if merged.rows else None
        start = len(merged.rows)
        merged = merged.merged(rows[start : start + limit], before, limit)
    return merged


@given(st.integers(0, 25), st.integers(0, 12), st.integers(1, 9))
@settings(max_examples=60)
def test_reading_the_head_anew_never_doubles_or_loses_a_run(
    known: int, new: int, limit: int
) -> None:
    rows = [run(number, NOW) for number in range(known + new)]
    before = pages(rows[new:], limit)
    assert ids(before) == [row.run_id for row in rows[new:]]
    after = before.merged(rows[:limit], None, limit)
    assert ids(after) == [row.run_id for row in rows][: len(after.rows)]
    if after.complete:
        assert len(after.rows) == len(rows)


def test_a_page_in_the_middle_replaces_only_itself() -> None:
    rows = [run(number, NOW) for number in range(12)]
    known = pages(rows, 4)
    changed = [run(number, NOW, S.FAILED) for number in range(4, 8)]
    after = known.merged(changed, rows[3].run_id, 4)
    assert ids(after) == ids(known)
    assert [row.status for row in after.rows].count(S.FAILED) == 4


@pytest.mark.parametrize(
    ("row", "word", "doing", "owner"),
    [
        (some_runs(NOW)[0], "● running", "model call · round 1", "pid 4711"),
        (some_runs(NOW)[1], "● running", "get_weather · round 2", "pid 812"),
        (some_runs(NOW)[2], "■ cancelling", "after get_weather", "pid 812"),
        (some_runs(NOW)[3], "■ cancelled", "by ada", ""),
        (some_runs(NOW)[4], "✓ completed", "", ""),
        (some_runs(NOW)[5], "✗ failed", "provider failed", ""),
        (some_runs(NOW)[6], "✓ completed", "max rounds", ""),
        (run(1, NOW, S.WAITING_FOR_APPROVAL), "○ waiting for approval", "round 2", "pid 4711"),
        (run(1, NOW, S.QUEUED, owner=None, round=0), "○ queued", "round 0", "nobody"),
    ],
)
def test_a_line_says_state_step_and_owner(row: RunRow, word: str, doing: str, owner: str) -> None:
    assert state.phase(row)[0] == word
    assert state.doing(row) == doing
    assert state.owner(row, here=()) == owner


def test_a_run_of_this_process_is_here_and_an_aborting_one_says_so() -> None:
    row = some_runs(NOW)[0]
    assert state.owner(row, here=(row.run_id,)) == "here"
    aborting = run(1, NOW, S.CANCELLED, closed_us=None, level=CancelLevel.ABORT)
    assert state.phase(aborting)[0] == "■ aborting"


@pytest.mark.parametrize(
    ("minutes", "text"), [(0, "0 s"), (1, "1m"), (59, "59m"), (75, "1h"), (3_000, "2d")]
)
def test_ages_are_whole_units(minutes: int, text: str) -> None:
    assert state.age(run(minutes, NOW), NOW) == text


@pytest.mark.parametrize("width", [40, 56, 64, 76, 90, 110, 200])
def test_columns_fit_their_width_and_always_say_the_state(width: int) -> None:
    columns = state.columns(width)
    taken = sum(column.width for column in columns) + 2 * (len(columns) - 1)
    assert taken <= width - 10
    assert {"status", "prompt", "age"} <= {column.name for column in columns}


def test_an_estimate_is_marked() -> None:
    assert state.tokens(some_runs(NOW)[3]) == "~490"
    assert state.tokens(some_runs(NOW)[4]) == "1.2k"
