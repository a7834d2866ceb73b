from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.errors import FilterError
from core.filter import MAX_DEPTH, MAX_LENGTH, MAX_TERMS, parse
from tests.core.filter.queries import FIELDS, NOW, SIGNS, queries, read

PIECES = st.sampled_from(
    [*'()"-:*\\ ', "and ", "or ", "not ", "host:", "status:", "at:", "since:", "failed", ">=", ".."]
)


@pytest.mark.parametrize(
    ("query", "position", "words"),
    [
        ("(a", 0, "never closed"),
        ("x (a or (b)", 2, "never closed"),
        ("a)", 1, "closes nothing"),
        ("()", 1, "missing"),
        ("a and", 5, "missing"),
        ("a and or b", 6, "missing"),
        ("or a", 0, "missing"),
        ("and", 0, "missing"),
        ("not", 3, "missing"),
        ("a (or b)", 3, "missing"),
        ("a or )", 5, "missing"),
        ("a -", 3, "Nothing follows"),
        ("- a", 1, "Nothing follows"),
        ("(-)", 2, "Nothing follows"),
        ('x "abc', 2, "does not end"),
        ('host:"abc\\"', 5, "does not end"),
        ('"abc\\', 0, "does not end"),
        ('"a\\d"', 2, "no escape"),
        ('a"b"', 1, "inside a word"),
        ('host:a"b"', 6, "inside a word"),
        ('"a"b', 3, "inside a word"),
        ('""', 0, "no text"),
        ("host:", 5, "no value"),
        ("host: a", 5, "no value"),
        ("status:>=", 9, "no value"),
        ("a (host:)", 8, "no value"),
        ("x hots:a", 2, "Unknown field “hots”"),
        ("hots:", 0, "Unknown field"),
        (":a", 0, "name is missing"),
        ("https://a", 0, "Unknown field"),
        ("status:abc", 7, "takes a number"),
        ("status:>=4x", 9, "takes a number"),
        ("status:1.5", 7, "takes a number"),
        ("status:٤", 7, "takes a number"),
        ("status:4*", 7, "takes a number"),
        ("status:>=1..2", 9, "takes a number"),
        ("status:1..b", 7, "takes a number"),
        ("status:1...2", 7, "takes a number"),
        ("status:9223372036854775808", 7, "takes a number"),
        ("status:" + "9" * 5_000, 7, "takes a number"),
        ("status:9..1", 7, "ends before"),
        ("at:today..yesterday", 3, "ends before"),
        ("at:1h..2h", 3, "ends before"),
        ("status:..", 7, "no ends"),
        ("success:maybe", 8, "takes yes or no"),
        ("success:>1", 8, "takes yes or no"),
        ("at:noon", 3, "takes a time"),
        ("at:2026-02-30", 3, "takes a time"),
        ("at:2026-13-01T00:00Z", 3, "takes a time"),
        ("at:>=1y", 5, "takes a time"),
        ("at:10m", 3, "needs a comparison"),
        ("since:>=1h", 6, "comparison already"),
        ("since:2h..1h", 6, "takes a time"),
        ("since:*", 6, "takes a time"),
        ("host:a..b", 5, "no ranges"),
        ("path:../etc", 5, "no ranges"),
        ("host:>a*", 6, "cannot be compared"),
        ("status>=400", 6, "colon is missing"),
        ("a\0", 1, "No row"),
        ("ab\ud800", 2, "No row"),
        ("(" * 1_000 + "a" + ")" * 1_000, MAX_DEPTH, "deep"),
        ("-(" * 4_000, 2 * MAX_DEPTH + 1, "deep"),
        ("a b or -(" * 30 + "a b" + ")" * 30, 29 * 9 + 8, "too deep"),
        ("a" * (MAX_LENGTH + 1), MAX_LENGTH, "characters"),
        ("a " * (MAX_TERMS + 1), 2 * MAX_TERMS, "terms"),
    ],
)
def test_an_error_says_what_and_where(query: str, position: int, words: str) -> None:
    with pytest.raises(FilterError) as caught:
        read(query)
    assert caught.value.position == position
    assert words in caught.value.what
    assert caught.value.where == f"column {position + 1}"


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("hots:a", "Did you mean host?"),
        ("unti:1h", "Did you mean until?"),
        ("qqq:a", "Valid names: action, at, failed, host, path, since, status, success, until."),
        ("at:10m", "Write since:10m or at:>=10m."),
        ("status>=400", "Write status:>="),
        ("since:>1h", "Write since:10m, or at:>10m."),
    ],
)
def test_an_error_says_what_to_write(query: str, hint: str) -> None:
    with pytest.raises(FilterError) as caught:
        read(query)
    assert caught.value.hint.startswith(hint)


def test_words_need_a_text_field() -> None:
    with pytest.raises(FilterError, match="no text to look into"):
        parse("a", {"n": "int"}, NOW)
    with pytest.raises(FilterError) as caught:
        parse("since:1h", {"n": "int"}, NOW)
    assert caught.value.hint.startswith("Valid names: n.")


@settings(max_examples=400)
@given(st.lists(PIECES | st.text(SIGNS, max_size=3) | st.text(max_size=3)).map("".join))
@example("host:>=")
@example('-"')
def test_no_text_raises_anything_but_a_filter_error(query: str) -> None:
    try:
        found = read(query)
    except FilterError as error:
        assert 0 <= error.position <= len(query)
        assert error.what and query.isprintable() <= error.what.isprintable()
    else:
        assert str(read(str(found))) == str(found)


@settings(max_examples=200)
@given(queries(), st.data())
def test_a_query_cut_anywhere_parses_or_says_where_not(query: str, data: st.DataObject) -> None:
    cut = query[: data.draw(st.integers(0, len(query)))]
    try:
        read(cut)
    except FilterError as error:
        assert 0 <= error.position <= len(cut)


def test_a_query_that_grows_too_long_when_written_in_full_is_refused() -> None:
    fields = {"a_time_with_a_name_of_its_own": "time"}
    with pytest.raises(FilterError) as caught:
        parse("since:1m " * 500, fields, NOW)
    assert caught.value.position == 4_500


def calls_of(query: str, row: dict[str, Any]) -> int:
    """Return how many Python and C functions parsing, asking and writing a query call."""
    count = 0

    def count_one(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_one)
    try:
        found = parse(query, FIELDS, NOW)
        found.matches(row)
        found.sql()
    except FilterError:
        pass
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    ("unit", "tail"),
    [
        ("a ", ""),
        ("-(a or b) ", ""),
        ("status:>=400 or ", "b"),
        ("-", "a"),
        ("not ", "a"),
        ('\\"', '"'),
        ("host:*a*a ", ""),
        ("(", ""),
        ("a*", "b"),
        ('"a', ""),
    ],
)
def test_work_grows_no_faster_than_the_query(unit: str, tail: str) -> None:
    head = '"' if unit.startswith("\\") else ""
    row = {"action": "a" * 200, "host": "a" * 200}
    short, long = (calls_of(head + unit * times + tail, row) for times in (100, 400))
    assert long <= 4.2 * short + 50
    full = head + unit * min(MAX_TERMS // 2, (MAX_LENGTH - 10) // len(unit)) + tail
    assert calls_of(full, row) < 200_000
