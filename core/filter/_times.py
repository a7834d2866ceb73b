"""Times as a person writes them in a query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

_AGO = re.compile(r"([0-9]{1,9})([smhdw])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as it was written.

    Attributes:
        start: its first microsecond, UTC since the epoch.
        end: the microsecond after its last one.
        is_ago: whether it was written as a span back from now.
    """

    start: int
    end: int
    is_ago: bool = False

    @property
    def is_day(self) -> bool:
        """Whether it is a whole day, not an instant."""
        return self.end > self.start + 1


def microseconds(moment: datetime | int) -> int:
    """Return UTC microseconds since the epoch; a time without an offset is UTC."""
    if isinstance(moment, int):
        return moment
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def read_time(text: str, now_us: int) -> Moment | None:
    """Return the time that ``text`` means, None if it is none."""
    word = text.lower()
    if word in ("today", "yesterday"):
        start = now_us - now_us % _DAY - (_DAY if word == "yesterday" else 0)
        return Moment(start, start + _DAY)
    ago = _AGO.fullmatch(text)
    if ago is not None:
        start = max(now_us - int(ago[1]) * _SECONDS[ago[2]] * _SECOND, 0)
        return Moment(start, start + 1, is_ago=True)
    is_day = _DATE.fullmatch(text) is not None
    if not is_day and _INSTANT.fullmatch(text.upper()) is None:
        return None
    try:
        start = microseconds(datetime.fromisoformat(text.upper()))
    except ValueError:  # a 13th month, a 30th of February
        return None
    return Moment(start, start + (_DAY if is_day else 1))
