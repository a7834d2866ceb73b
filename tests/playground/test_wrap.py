from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import get_character_cell_size

from playground.state.wrap import wrap_line

_TEXT = st.text(alphabet="ab  漢e\u0301😀é", max_size=60)
_WIDTH = st.integers(2, 12)


def _cells(row: str) -> int:
    return sum(map(get_character_cell_size, row))


@settings(max_examples=200, deadline=None)
@given(_TEXT, _WIDTH)
def test_rows_fit_and_joined_are_the_line(text: str, width: int) -> None:
    rows = wrap_line(text, width)
    assert "".join(rows) == text
    assert all(_cells(row) <= width for row in rows)


@settings(max_examples=200, deadline=None)
@given(_TEXT, _TEXT, _WIDTH)
def test_appended_text_changes_only_the_last_row(before: str, added: str, width: int) -> None:
    rows = wrap_line(before, width)
    assert rows[:-1] + wrap_line(rows[-1] + added, width) == wrap_line(before + added, width)


def test_words_stay_whole_where_they_fit() -> None:
    assert wrap_line("the quick brown fox", 10) == ["the quick ", "brown fox"]
    assert wrap_line("incomprehensible", 6) == ["incomp", "rehens", "ible"]
    assert wrap_line("", 5) == [""]
    assert wrap_line("漢字漢", 1) == ["漢", "字", "漢"]


def test_cost_grows_with_the_text_not_with_its_square() -> None:
    def measure(size: int) -> float:
        best = 9.0
        for _ in range(3):
            begun = time.process_time()
            wrap_line("漢" * size, 60)
            best = min(best, time.process_time() - begun)
        return best

    assert measure(40_000) < 6 * measure(10_000)
