"""Points in time as a person writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from core.errors import UsageError

_AGO = re.compile(r"([0-9]{1,9})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def parse_time(text: str, *, now_us: int, option: str) -> int:
    """Return UTC microseconds since the epoch.

    Args:
        text: RFC 3339 (UTC where it names no offset), a date, or a span back from now:
            ``90s``, ``10m``, ``2h``, ``3d``, ``1w``.
        now_us: the time that spans count from.
        option: which option the text belongs to.

    Raises:
        UsageError: it is none of these.
    """
    ago = _AGO.fullmatch(text)
    if ago:
        return max(now_us - int(ago[1]) * _SECONDS[ago[2]] * 1_000_000, 0)
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return int(moment.timestamp()) * 1_000_000 + moment.microsecond
    except (ValueError, OverflowError):
        raise UsageError(
            "This is not a time",
            where=f"{option} {text!r}",
            hint="Write 2026-01-31T12:00:00Z, 2026-01-31, or a span back from now: 10m, 2h, 3d.",
        ) from None
