from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.cli._globals import Globals, hoist
from core.errors import UsageError


@pytest.mark.parametrize(
    ("argv", "options", "rest"),
    [
        ([], Globals(), []),
        (["--json", "runs", "list"], Globals(json=True), ["runs", "list"]),
        (["runs", "--db", "x", "list"], Globals(db="x"), ["runs", "list"]),
        (["runs", "list", "--db=a=b"], Globals(db="a=b"), ["runs", "list"]),
        (["--config", "c", "--config=d", "run"], Globals(config="d"), ["run"]),
        (["run", "--", "--json", "--db"], Globals(), ["run", "--", "--json", "--db"]),
        (["run", "--dbx", "y"], Globals(), ["run", "--dbx", "y"]),
    ],
)
def test_global_options_are_taken_from_anywhere(
    argv: list[str], options: Globals, rest: list[str]
) -> None:
    assert hoist(argv) == (options, rest)


@pytest.mark.parametrize("argv", [["--db"], ["run", "--config"], ["--db="], ["--json=yes"]])
def test_option_without_its_value_is_an_error(argv: list[str]) -> None:
    with pytest.raises(UsageError):
        hoist(argv)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["run", "--json", "--", "-x", "a", "--db=v"]), max_size=8))
def test_what_stands_behind_two_dashes_is_never_touched(argv: list[str]) -> None:
    options, rest = hoist(argv)
    head, tail = argv, []
    if "--" in argv:
        head, tail = argv[: argv.index("--")], argv[argv.index("--") :]
    assert rest[len(rest) - len(tail) :] == tail
    assert options.json == ("--json" in head)
    assert "--json" not in rest[: len(rest) - len(tail)]
