from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import Clipped, clip, decode


@given(st.text(st.characters(exclude_categories=()), max_size=80), st.integers(0, 90))
def test_counts_are_exact_and_only_the_end_is_lost(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    assert text.startswith(clipped.text)
    assert clipped.kept == len(clipped.text) <= limit
    assert clipped.total == len(text)
    assert (clipped.kept == clipped.total) == (clipped.text == text)


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("abc", 3, "abc"),
        ("abc", 2, "ab"),
        ("abc", 0, ""),
        ("ae\u0301x", 2, "a"),
        ("a👩\u200d👧x", 2, "a"),
        ("a👩\u200d👧x", 3, "a"),
        ("a👍\U0001f3fdx", 2, "a"),
        ("a\r\nb", 2, "a"),
        ("a\ud83d\ude00", 2, "a"),
        ("❤\ufe0f!", 1, ""),
    ],
)
def test_a_cut_never_splits_what_is_read_as_one(text: str, limit: int, kept: str) -> None:
    assert clip(text, limit) == Clipped(kept, len(kept), len(text))


def test_endless_marks_are_cut_like_any_text() -> None:
    assert clip("e" + "\u0301" * 1000, 100).kept == 100


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        clip("x", -1)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", "plain"),
        ("漢字".encode(), "漢字"),
        (b"\xf0", "\\xf0"),
        (b"a\x80\xffb", "a\\x80\\xffb"),
        ("漢".encode()[:2], "\\xe6\\xbc"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
    ],
)
def test_bytes_that_are_no_text_become_visible(data: bytes, text: str) -> None:
    assert decode(data) == text


@given(st.binary(max_size=60))
def test_decoding_never_fails_and_can_be_stored(data: bytes) -> None:
    decode(data).encode("utf-8")
