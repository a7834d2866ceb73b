from __future__ import annotations

import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from core.config._lines import line_of

TEXT = '''\
# models.a is mentioned here
[models.a]
note = """
b = 1
[models.b]
"""
b = [
  1,
  2,
]

[models.b]
"b" = 3
c.d = 4
'''


def test_lines_of_tables_and_keys_are_exact() -> None:
    tomllib.loads(TEXT)
    assert line_of(TEXT, ("models",)) == 2
    assert line_of(TEXT, ("models", "a")) == 2
    assert line_of(TEXT, ("models", "a", "b")) == 7
    assert line_of(TEXT, ("models", "b")) == 12
    assert line_of(TEXT, ("models", "b", "b")) == 13
    assert line_of(TEXT, ("models", "b", "c", "d")) == 14


def test_key_spelled_with_escapes_has_no_line() -> None:
    assert line_of('"\\u0061bc" = 1\n', ("abc",)) is None


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["# c", ""]), st.sampled_from(["1", "[\n 1,\n]", "'''\nx = 1\n'''"])
        ),
        min_size=1,
        max_size=8,
    )
)
def test_every_key_of_a_generated_file_is_found(entries: list[tuple[str, str]]) -> None:
    lines: list[str] = []
    expected: dict[str, int] = {}
    for number, (before, value) in enumerate(entries):
        lines.append(before)
        expected[f"key{number}"] = len(lines) + 1
        lines.extend(f"key{number} = {value}".split("\n"))
    text = "\n".join(lines) + "\n"
    assert {key: line_of(text, (key,)) for key in expected} == expected
