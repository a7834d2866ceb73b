from __future__ import annotations

import pytest

from playground.state import format as shown


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, ""),
        (0, "0 ms"),
        (8.4, "8 ms"),
        (999.4, "999 ms"),
        (999.6, "1.0 s"),
        (4_200, "4.2 s"),
        (59_949, "59.9 s"),
        (59_960, "1m 00s"),
        (3_599_400, "59m 59s"),
        (7_500_000, "2h 05m"),
    ],
)
def test_durations(milliseconds: float | None, text: str) -> None:
    assert shown.duration(milliseconds) == text


def test_a_growing_duration_never_flickers_in_milliseconds() -> None:
    assert shown.elapsed(424) == "0.4 s"
    assert shown.elapsed(61_000) == "1m 01s"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_249, "1.2k"),
        (34_400, "34k"),
        (2_000_000, "2.0M"),
    ],
)
def test_short_counts(number: int, text: str) -> None:
    assert shown.short_count(number) == text


def test_an_unknown_price_is_never_nothing() -> None:
    assert shown.cost(None) == "cost unknown"
    assert shown.cost(0.0031) == "$0.0031"
    assert shown.cost(12.5) == "$12.50"


def test_counts_and_plurals() -> None:
    assert shown.count(1_204_000) == "1 204 000"
    assert shown.plural(1, "round") == "1 round"
    assert shown.plural(2, "round") == "2 rounds"
    assert shown.clock_time(1_900_000_000_000_000) == "17:46:40"
