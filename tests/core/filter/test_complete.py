from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.filter import complete
from tests.core.filter.queries import FIELDS, SIGNS, read

VALUES = {
    "action": ("http_call", "http_call_cancelled", "secret_read"),
    "host": ("a.example", "b c", "d..e", '"', "<x"),
}


def offered(marked: str) -> list[str]:
    """Return the whole queries that completing at the ``|`` leads to."""
    cursor = marked.index("|")
    query = marked.replace("|", "", 1)
    found = complete(query, cursor, FIELDS, VALUES)
    return [query[: one.start] + one.text + query[one.end :] for one in found]


@pytest.mark.parametrize(
    ("marked", "queries"),
    [
        ("ho|", ["host:"]),
        ("s|", ["status:", "success:", "since:", "action:secret_read"]),
        ("x -ho|", ["x -host:"]),
        ("(ho|)", ["(host:)"]),
        ("ho|xx y", ["host: y"]),
        ("host:|", ["host:a.example", 'host:"b c"', 'host:"d..e"', 'host:"\\""', 'host:"<x"']),
        ('host:"b|', ['host:"b c"']),
        ('host:"b| x" y', ['host:"b c" y']),
        ("action:http|", ["action:http_call", "action:http_call_cancelled"]),
        ("action:CANC|", ["action:http_call_cancelled"]),
        ("action:|http_call x", ["action:http_call_cancelled x", "action:secret_read x"]),
        ("action:http_call|", ["action:http_call_cancelled"]),
        ("cancel|", ["action:http_call_cancelled"]),
        ("success:|", ["success:yes", "success:no"]),
        ("failed:y|", ["failed:yes"]),
        ("since:1|", ["since:10m", "since:1h", "since:1d"]),
        ("at:t|", ["at:today"]),
        ("at:10|", ["at:>=10m"]),
        ("nope:|", []),
        ('"ho|', []),
        ('"a b" ho|', ['"a b" host:']),
        ('"a\\" ho|', []),
    ],
)
def test_completion(marked: str, queries: list[str]) -> None:
    assert offered(marked) == queries


def test_an_empty_place_offers_every_field() -> None:
    assert [text.removesuffix(":") for text in offered("|")] == [
        *FIELDS,
        "since",
        "until",
        "failed",
    ]
    assert offered("a |") == [f"a {text}" for text in offered("|")]


@given(st.text(SIGNS + ' ()":', max_size=12), st.data())
def test_any_text_can_be_completed(query: str, data: st.DataObject) -> None:
    cursor = data.draw(st.integers(0, len(query)))
    for one in complete(query, cursor, FIELDS, VALUES):
        assert 0 <= one.start <= cursor <= one.end <= len(query)
        assert query[one.start : one.end] != one.text


@pytest.mark.parametrize("field", [*FIELDS, "since", "until", "failed"])
def test_every_offered_value_parses_to_what_it_says(field: str) -> None:
    found = offered(f"{field}:|")
    assert [str(read(query)) == "" for query in found] == [False] * len(found)
    if field in VALUES:
        assert [read(query).equalities[field] for query in found] == list(VALUES[field])
