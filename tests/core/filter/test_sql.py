from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.errors import FilterError
from core.filter import MAX_LENGTH, MAX_TERMS, Filter, parse
from tests.core.filter.queries import COLUMNS, FIELDS, NOW, queries, read, rows

TABLE = """
    CREATE TABLE row (
        action TEXT NOT NULL, host TEXT, path TEXT, status INTEGER, success INTEGER, at_us INTEGER
    ) STRICT
"""


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(TABLE)
        yield connection


def selected(database: sqlite3.Connection, found: Filter, among: list[dict[str, Any]]) -> list[int]:
    """Return the places in ``among`` of the rows that SQLite selects."""
    database.execute("DELETE FROM row")
    marks = ", ".join("?" * len(COLUMNS))
    for place, row in enumerate(among):
        values = [row[column] for column in COLUMNS]
        database.execute(
            f"INSERT INTO row (rowid, {', '.join(COLUMNS)}) VALUES (?, {marks})", [place, *values]
        )
    where, parameters = found.sql()
    assert where.count("?") == len(parameters)
    statement = f"SELECT rowid FROM row WHERE rowid >= 0 AND {where} ORDER BY rowid"
    return [place for (place,) in database.execute(statement, parameters)]


@settings(max_examples=600)
@given(queries(), st.lists(rows(), min_size=1, max_size=6))
def test_sql_and_python_agree(
    database: sqlite3.Connection, query: str, among: list[dict[str, Any]]
) -> None:
    try:
        found = read(query)
    except FilterError:
        assume(False)
    expected = [place for place, row in enumerate(among) if found.matches(row)]
    assert selected(database, found, among) == expected
    again = read(str(found))
    assert str(again) == str(found)
    assert again.sql() == found.sql()
    assert (again.fields, again.equalities) == (found.fields, found.equalities)
    for place in expected:
        row = among[place]
        at = row["at_us"]
        assert all(row[name] == value for name, value in found.equalities.items())
        assert found.since_us is None or at >= found.since_us
        assert found.until_us is None or at < found.until_us


def test_a_random_query_parses_more_often_than_not() -> None:
    outcomes = []

    @settings(max_examples=200, database=None)
    @given(queries())
    def count(query: str) -> None:
        try:
            read(query)
            outcomes.append(True)
        except FilterError:
            outcomes.append(False)

    count()
    assert sum(outcomes) > len(outcomes) / 2


@pytest.mark.parametrize(
    ("query", "where", "parameters"),
    [
        ("action:a", "(action = ?)", ["a"]),
        ("host:a", "(host IS NOT NULL AND host = ?)", ["a"]),
        ("-host:a", "NOT (host IS NOT NULL AND host = ?)", ["a"]),
        ("host:A!_%*", "(host IS NOT NULL AND lower(host) LIKE ? ESCAPE '!')", ["a!!!_!%%"]),
        ("status:4..5", "(status IS NOT NULL AND status >= ? AND status <= ?)", [4, 5]),
        ("failed", "(success IS NOT NULL AND success = ?)", [False]),
        ("action:*", "1 = 1", []),
        ("host:*", "(host IS NOT NULL)", []),
        ("at:>=1970-01-01", "(at_us IS NOT NULL AND at_us >= ?)", [0]),
    ],
)
def test_values_are_bound_and_no_null_is_compared(
    query: str, where: str, parameters: list[Any]
) -> None:
    assert read(query).sql() == (where, parameters)


@given(st.text(max_size=20))
def test_no_text_of_a_query_reaches_the_statement(database: sqlite3.Connection, text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    try:
        found = read(f'host:"{escaped}"')
    except FilterError:
        assert "\0" in text
        return
    assert found.sql() == ("(host IS NOT NULL AND host = ?)", [text])
    row = dict.fromkeys(COLUMNS) | {"action": "", "host": text}
    assert found.matches(row)
    assert selected(database, found, [row]) == [0]


SWAPPED = {" or ": " and ", " and ": " or "}


def nested(template: str) -> str:
    """Return the deepest query that parses of those that put the last one into the template."""
    query, last = "word", ""
    with contextlib.suppress(FilterError):
        while read(query):
            last, query = query, template.replace("{}", query)
            template = re.sub(" or | and ", lambda word: SWAPPED[word[0]], template)
    assert len(last) > 80
    return last


# Twice nested in a statement of its own, as a page of several actions is.
PAGE = """
    SELECT * FROM row WHERE rowid IN (
        SELECT rowid FROM (SELECT rowid FROM row WHERE rowid >= 0 AND {} ORDER BY rowid LIMIT 9)
        UNION ALL
        SELECT rowid FROM (SELECT rowid FROM row WHERE rowid >= 0 AND {} ORDER BY rowid LIMIT 9)
        ORDER BY 1)
"""


@pytest.mark.parametrize(
    "query",
    [
        nested("({})"),
        nested("(host:a or {})"),
        nested("-({} and host:a)"),
        nested("-(host:a or {} or host:b)"),
        nested("-(host:a b or -(c {}))"),
        nested("(x or y (host:a or z {}))"),
        nested("(a or b) (c or {})"),
        nested("-(({} or a) ({} or b))"),
        "a " * MAX_TERMS,
        "-(a or b) " * (MAX_TERMS // 2),
        "a or " * (MAX_TERMS - 1) + "a",
        "😀" * MAX_LENGTH,
        "%" * MAX_LENGTH,
        "a*" * (MAX_LENGTH // 2),
        "host:" + "_" * (MAX_LENGTH - 6) + "*",
    ],
    ids=lambda query: f"{query[:20]}… {len(query)}",
)
def test_the_largest_queries_run(database: sqlite3.Connection, query: str) -> None:
    row = dict.fromkeys(COLUMNS) | {"action": "a" * 50, "host": "b" * 50}
    found = read(query)
    assert selected(database, found, [row]) == ([0] if found.matches(row) else [])
    where, parameters = found.sql()
    assert len(
        database.execute(PAGE.format(where, where), parameters * 2).fetchall()
    ) == found.matches(row)


def test_forty_text_fields_stay_within_the_drivers_bounds(database: sqlite3.Connection) -> None:
    fields = {f"column{number}": "text" for number in range(40)}
    where, parameters = parse("a " * MAX_TERMS, fields, NOW).sql()
    columns = ", ".join(f"NULL AS {name}" for name in fields)
    assert (
        database.execute(f"SELECT 1 FROM (SELECT {columns}) WHERE {where}", parameters).fetchall()
        == []
    )


def test_only_the_first_26_letters_have_a_case(database: sqlite3.Connection) -> None:
    among = [
        dict.fromkeys(COLUMNS) | {"action": "", "host": host}
        for host in ("É", "é", "K", "k", "\u212a")
    ]
    assert selected(database, read("host:é*"), among) == [1]
    assert selected(database, read("host:K*"), among) == [2, 3]
    assert [read("host:K*").matches(row) for row in among] == [False, False, True, True, False]
    assert FIELDS["host"] == "text"
