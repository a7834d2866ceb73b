"""The fields of the tests, and random queries and rows over them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from core.filter import Field, FieldType, Filter, parse

FIELDS: dict[str, str | Field] = {
    "action": Field(FieldType.TEXT, null=False),
    "host": FieldType.TEXT,
    "path": "text",
    "status": "int",
    "success": FieldType.BOOL,
    "at": Field(FieldType.TIME, column="at_us"),
}
COLUMNS = ("action", "host", "path", "status", "success", "at_us")
NOW = datetime(2026, 3, 10, 12, 0, 0, tzinfo=UTC)
SECOND = 1_000_000
NOW_US = int(NOW.timestamp()) * SECOND


def read(query: str) -> Filter:
    return parse(query, FIELDS, NOW)


def us(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return int(moment.timestamp()) * SECOND + moment.microsecond


# Few letters, so that queries and rows meet; and every character that some language minds.
SIGNS = "aAbBzZéÉßİ😀%_*?[]!'\\^-.:<>=,;$"
TEXTS = st.text(SIGNS + ' ()"\n\t', max_size=6)
WORDS = st.text(SIGNS, min_size=1, max_size=4)
EDGES = [0, 1, 200, 399, 400, 401, -1, 2**63 - 1, -(2**63)]
NUMBERS = st.sampled_from(EDGES)
OPERATORS = st.sampled_from(["", ">=", ">", "<=", "<"])
TIMES = st.sampled_from(
    [
        "today",
        "yesterday",
        "2026-03-09",
        "2026-03-10T12:00:00Z",
        "2026-03-10T13:00+01:00",
        "2026-03-10T11:59:59.999999",
        "10m",
        "2h",
        "1d",
    ]
)
INSTANTS = st.sampled_from(
    [
        NOW_US + offset * SECOND + extra
        for offset in (0, -600, -7_200, -43_200, -86_400, -129_600)
        for extra in (-1, 0, 1)
    ]
)


def rows() -> st.SearchStrategy[dict[str, Any]]:
    text = st.none() | TEXTS
    return st.fixed_dictionaries(
        {
            "action": TEXTS,
            "host": text,
            "path": text,
            "status": st.none() | NUMBERS,
            "success": st.none() | st.booleans(),
            "at_us": st.none() | INSTANTS,
        }
    )


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def terms() -> st.SearchStrategy[str]:
    field = st.sampled_from(["action", "host", "path"])
    number = st.tuples(OPERATORS, NUMBERS).map(lambda pair: f"{pair[0]}{pair[1]}")
    number_range = st.tuples(NUMBERS, NUMBERS).map(lambda ends: "{}..{}".format(*sorted(ends)))
    time = st.tuples(OPERATORS, TIMES).map("".join)
    return st.one_of(
        st.tuples(field, OPERATORS, TEXTS).map(lambda t: f"{t[0]}:{t[1]}{quoted(t[2])}"),
        st.tuples(field, WORDS).map(":".join),
        st.tuples(field, WORDS, WORDS).map(lambda t: f"{t[0]}:{t[1]}*{t[2]}"),
        WORDS,
        TEXTS.map(quoted),
        (number | number_range | st.just("*")).map("status:{}".format),
        st.sampled_from(["failed", "success", "success:no", "failed:0", "success:*"]),
        time.map("at:{}".format),
        st.tuples(TIMES, TIMES).map(lambda ends: "at:{}..{}".format(*ends)),
        st.tuples(st.sampled_from(["since:", "until:"]), TIMES).map("".join),
    )


def queries() -> st.SearchStrategy[str]:
    """Return queries most of which parse."""
    return st.recursive(
        terms(),
        lambda inner: st.one_of(
            inner.map("-({})".format),
            inner.map("not {}".format),
            st.tuples(inner, st.sampled_from([" ", " and ", " or "]), inner).map("".join),
            inner.map("({})".format),
        ),
        max_leaves=6,
    )
