from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.text import storable, well_formed

ANY = st.text(st.characters() | st.characters(categories=["Cs"]) | st.just("\0"), max_size=20)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("ü 漢 🙂", "ü 漢 🙂"),
        ("\ud83d\ude42", "🙂"),
        ("a\ud83d", "a\ufffd"),
        ("\ude42\ud83d", "\ufffd\ufffd"),
    ],
)
def test_surrogates_are_joined_or_replaced(text: str, expected: str) -> None:
    assert well_formed(text) == storable(text) == expected


def test_nul_is_text_but_cannot_be_stored() -> None:
    assert well_formed("a\0b") == "a\0b"
    assert storable("a\0b") == "a\ufffdb"


@settings(max_examples=200)
@given(ANY)
def test_any_text_becomes_storable_once(text: str) -> None:
    stored = storable(text)
    assert "\0" not in stored
    assert stored.encode().decode() == stored == storable(stored)
