from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.cli._times import parse_time
from core.errors import UsageError

NOW = 1_900_000_000_000_000


def us(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", NOW - 90_000_000),
        ("10m", NOW - 600_000_000),
        ("2h", NOW - 7_200_000_000),
        ("3d", NOW - 259_200_000_000),
        ("1w", NOW - 604_800_000_000),
        ("0s", NOW),
        ("999999999w", 0),
        ("2026-01-31", us(2026, 1, 31)),
        ("2026-01-31T12:00:00Z", us(2026, 1, 31, 12)),
        ("2026-01-31T12:00:00+02:00", us(2026, 1, 31, 10)),
        ("2026-01-31T12:00:00.000001Z", us(2026, 1, 31, 12) + 1),
        ("2026-01-31 12:00:00", us(2026, 1, 31, 12)),
    ],
)
def test_times_are_read_to_the_microsecond(text: str, expected: int) -> None:
    assert parse_time(text, now_us=NOW, option="--since") == expected


@pytest.mark.parametrize("text", ["", "now", "-5m", "5", "5y", "2026-13-01", "٣d", "1.5h", "m"])
def test_anything_else_is_an_error_that_shows_the_forms(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_time(text, now_us=NOW, option="--until")
    assert caught.value.where.startswith("--until")
    assert "10m" in caught.value.hint
