from __future__ import annotations

import json
import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.text import display, line
from tests.cases import cases

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ANY_CHAR = st.characters(exclude_categories=())
HOSTILE = st.sampled_from(
    [*"\x1b\x00\r\n\t\x7f\x85\x9b\u2028\u200b\u200c\u200d\ufe0f\ud83dمa ", *BIDI]
)
TEXT = st.text(ANY_CHAR | HOSTILE, max_size=60)


def allowed(char: str) -> bool:
    if char in "\n\t\u200d":
        return True
    if char in BIDI or (ord(char) & 0xFFFE) == 0xFFFE or "\ufdd0" <= char <= "\ufdef":
        return False
    return unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"}


@settings(max_examples=300)
@given(TEXT)
def test_nothing_that_controls_a_terminal_leaves(text: str) -> None:
    assert all(allowed(char) for char in display(text))


@settings(max_examples=300)
@given(TEXT)
def test_displaying_twice_changes_nothing(text: str) -> None:
    shown = display(text)
    assert display(shown) == shown
    assert line(line(text)) == line(text)


def test_every_code_point_is_harmless_on_its_own() -> None:
    for code in range(sys.maxunicode + 1):
        shown = display(chr(code))
        assert all(map(allowed, shown)), hex(code)
        assert shown, hex(code)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("\x1b]52;c;ZXZpbA==\x07", "␛]52;c;ZXZpbA==␇"),
        ("\x00\x08\x0b\x0c\x7f", "␀␈␋␌␡"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("a\r\nb\rc", "a\nb␍c"),
        ("a\x85b\u2028c\u2029d", "a\nb\nc\nd"),
        ("\u202eabc\u202c", "⟨RLO⟩abc⟨PDF⟩"),
        ("a\u200bb\ufeffc\u00ad", "a⟨ZWSP⟩b⟨BOM⟩c⟨SHY⟩"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("\ud83d", "⟨U+D83D⟩"),
        ("\ufffe\uffff\ufdd0\U0001ffff", "⟨U+FFFE⟩⟨U+FFFF⟩⟨U+FDD0⟩⟨U+1FFFF⟩"),
        ("a\u200cb", "a⟨ZWNJ⟩b"),
        ("❤\ufe0f\ufe0f\ufe00", "❤\ufe0f⟨U+FE0F⟩⟨U+FE00⟩"),
    ],
)
def test_what_is_hidden_becomes_visible(text: str, shown: str) -> None:
    assert display(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two\nlines\twith tabs",
        "[red]markup[/red] [/ [@click=app.quit]x[/]",
        "漢字 👩\u200d👩\u200d👧 Z\u0338algo e\u0301 ❤\ufe0f",
        "\u0645\u06cc\u200c\u062e \u0915\u094d\u200c\u0937",
        "\ue0a0 private use and the unassigned \U0003fff0",
    ],
)
def test_harmless_text_is_the_same_object(text: str) -> None:
    assert display(text) is text


def test_five_megabytes_take_no_longer_than_they_must() -> None:
    for text in ("x" * 5_000_000, "漢" * 2_000_000, "\x1b[31m" * 500_000, "\r" * 1_000_000):
        started = time.process_time()
        display(text)
        assert time.process_time() - started < 3


def test_a_line_is_one_line() -> None:
    assert line("a\nb\tc\r\nd\n\n") == "a⏎b c⏎d"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("漢字漢字", 5, "漢字…"),
        ("漢字漢字", 8, "漢字漢字"),
        ("漢字漢字", 4, "漢…"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("abc", 1, "…"),
        ("", 1, ""),
        ("\x1b[2J long", 5, "␛[2J…"),
        ("x" * 5_000_000, 4, "xxx…"),
    ],
)
def test_a_line_fits_its_cells(text: str, width: int, shown: str) -> None:
    assert line(text, width) == shown


@given(TEXT, st.integers(1, 40))
def test_a_short_line_begins_like_the_whole(text: str, width: int) -> None:
    short, whole = line(text, width), line(text)
    assert short == whole or (short.endswith("…") and whole.startswith(short[:-1]))


def test_the_hostile_corpus_is_harmless() -> None:
    hostile = json.loads(cases("text/hostile-terminal.json").read_text("utf-8"))["cases"]
    naughty = json.loads(cases("text/naughty-strings.json").read_text("utf-8"))
    for text in [text for text, _ in hostile] + naughty:
        assert all(map(allowed, display(text)))
        assert all(map(allowed, line(text)))
        assert not set("\n\t") & set(line(text))
        display(text).encode("utf-8")
