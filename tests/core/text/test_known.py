from __future__ import annotations

import base64
import copy
import html
import json
import pickle
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.text import KnownSecrets

MASK = "[redacted]"
CANARY = "zebra stripes forty-two"
VALUES = st.one_of(
    st.sampled_from(
        [CANARY, "sk-live/8f+3a==", 'q"\\u/ %41&<x>', "пароль=тест", "k🙂y\n2'", "aaaa"]
    ),
    st.text("abZ09 +/%&\\\"'-_é🙂", min_size=4, max_size=14),
)
# Nothing that a spelling of a value begins with, holds or ends in.
AROUND = st.text("漢字。\t,;()", max_size=12)


def known(*values: str) -> KnownSecrets:
    secrets = KnownSecrets()
    for value in values:
        secrets.add(value)
    return secrets


def test_a_placeholder_is_no_secret() -> None:
    secrets = known("ollama", "EMPTY", "abc")
    assert secrets.mask("ollama, empty and abc") == "ollama, empty and abc"


def test_what_opens_nothing_any_more_is_masked_no_longer() -> None:
    secrets = known("first-token", "second-token")
    assert secrets.mask("first-token second-token") == f"{MASK} {MASK}"
    secrets.discard("first-token")
    secrets.add("third-token")
    shown = secrets.mask("first-token second-token third-token")
    assert shown == f"first-token {MASK} {MASK}"


def base64_of(value: str, before: bytes, after: bytes, *, url_safe: bool) -> str:
    data = before + value.encode() + after
    return (base64.urlsafe_b64encode(data) if url_safe else base64.b64encode(data)).decode()


def percent(char: str, upper: bool) -> str:
    return "".join(f"%{byte:02X}" if upper else f"%{byte:02x}" for byte in char.encode())


def four_digits(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else char


@st.composite
def partly_percent(draw: st.DrawFn, value: str) -> str:
    ways = draw(st.lists(st.integers(0, 2), min_size=len(value), max_size=len(value)))
    return "".join(
        char if way == 0 else percent(char, way == 1) for char, way in zip(value, ways, strict=True)
    )


@st.composite
def spelled(draw: st.DrawFn, value: str) -> str:
    data = value.encode()
    return draw(
        st.one_of(
            partly_percent(value),
            st.sampled_from(
                [
                    value,
                    quote(value, safe=""),
                    quote(value),
                    quote_plus(value),
                    quote_plus(value).lower() if value.islower() else value,
                    "".join(percent(char, upper=False) for char in value),
                    quote(quote(value, safe=""), safe=""),
                    json.dumps(value)[1:-1],
                    json.dumps(value, ensure_ascii=False)[1:-1],
                    json.dumps(json.dumps(value)[1:-1])[1:-1],
                    json.dumps(json.dumps(value, ensure_ascii=False))[3:-3],
                    json.dumps(value)[1:-1].replace("/", "\\/"),
                    "".join(
                        f"\\u{ord(char):04x}" if ord(char) < 0x10000 else char for char in value
                    ),
                    repr(value)[1:-1],
                    html.escape(value),
                    data.hex(),
                    data.hex().upper(),
                ]
            ),
        )
    )


@settings(max_examples=400)
@given(st.data(), VALUES, AROUND, AROUND)
def test_a_spelling_is_masked_and_nothing_else(
    data: st.DataObject, value: str, before: str, after: str
) -> None:
    text = data.draw(spelled(value))
    assert known(value).mask(before + text + after) == before + MASK + after


@settings(max_examples=400)
@given(VALUES, st.binary(max_size=8), st.binary(max_size=8), st.booleans(), AROUND)
@example("pass", b"user:", b"", False, "")
def test_base64_of_a_longer_text_is_masked(
    value: str, before: bytes, after: bytes, url_safe: bool, around: str
) -> None:
    encoded = base64_of(value, before, after, url_safe=url_safe)
    masked = known(value).mask(f"{around}{encoded}{around}")
    assert masked.startswith(around)
    assert masked.endswith(around)
    left, mask, right = masked.removeprefix(around).partition(MASK)
    assert mask
    right = right.removesuffix(around) if around else right
    # What is left on either side holds no more than two bits of the value.
    assert len(left) <= -(-len(before) * 8 // 6)
    if MASK not in right:
        assert len(right.rstrip("=")) <= -(-len(after) * 8 // 6)


@pytest.mark.parametrize("escape", ["%2B %2F", "%2b %2f", "+ \\/", "- _"])
def test_base64_is_found_where_its_own_signs_are_escaped(escape: str) -> None:
    value = "\u00fb\u00ef\u00be>>??~~\u00ff"
    plus, slash = escape.split()
    encoded = base64.b64encode(value.encode()).decode()
    assert "+" in encoded
    assert "/" in encoded
    text = encoded.replace("/", "\0").replace("+", plus).replace("\0", slash)
    assert known(value).mask(f"a={text}").removesuffix("==").removesuffix("=") == f"a={MASK}"


def test_the_word_after_basic_keeps_the_user_only() -> None:
    masked = known("open sesame").mask("Authorization: Basic dXNlcjpvcGVuIHNlc2FtZQ==")
    assert masked == f"Authorization: Basic dXNlcjp{MASK}=="


@settings(max_examples=300)
@given(
    st.lists(VALUES, max_size=3),
    st.text("cdefghijklmnoqrtuwxy .:\n漢", max_size=80),
)
def test_a_text_without_a_secret_is_the_same_object(values: list[str], text: str) -> None:
    assert known(*values).mask(text) is text


PIECES = st.lists(st.integers(1, 5), min_size=1, max_size=30)


@settings(max_examples=250)
@given(st.data(), st.lists(VALUES, min_size=1, max_size=3), PIECES)
def test_any_split_gives_the_same_text(
    data: st.DataObject, values: list[str], sizes: list[int]
) -> None:
    part = st.one_of(
        st.sampled_from(values).flatmap(spelled),
        st.builds(
            base64_of,
            st.sampled_from(values),
            st.binary(max_size=4),
            st.binary(max_size=4),
            url_safe=st.booleans(),
        ),
        st.sampled_from(values).map(lambda value: value[:-1]),
        st.sampled_from(values).flatmap(spelled).map(lambda text: text[: len(text) // 2]),
        st.text("ab zZ9%\\+=漢", max_size=6),
    )
    text = "".join(data.draw(st.lists(part, max_size=6)))
    secrets = known(*values)
    stream = secrets.stream()
    given_back = []
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        given_back.append(stream.feed(text[at : at + size]))
        at += size
        turn += 1
    given_back.append(stream.flush())
    assert "".join(given_back) == secrets.mask(text)


def test_a_stream_holds_back_only_what_may_begin_a_secret() -> None:
    stream = known(CANARY).stream()
    assert stream.feed("All is well. ") == "All is well. "
    assert stream.feed("A zebra str") == "A "
    assert stream.feed("ing") == "zebra string"
    assert stream.feed(" zebra%20stri") == " "
    assert stream.feed("pes forty-tw") == ""
    assert stream.feed("o!") == f"{MASK}!"
    assert stream.feed("emVicmE") == ""
    assert stream.flush() == "emVicmE"


def test_a_secret_never_shows_one_character_at_a_time() -> None:
    stream = known(CANARY).stream()
    given_back = [stream.feed(char) for char in f"-- {CANARY} -- {CANARY[:-1]}"]
    assert "".join(given_back) == f"-- {MASK} -- "
    assert stream.flush() == CANARY[:-1]


def test_neighbours_and_overlaps_become_one_mask() -> None:
    secrets = known("abcdef", "defghi")
    assert secrets.mask("_abcdefghi_abcdefabcdef_") == f"_{MASK}_{MASK}_"


def test_a_secret_that_is_added_later_is_masked_in_a_stream_that_has_begun() -> None:
    secrets = known("zzzzyyyy")
    stream = secrets.stream()
    assert stream.feed("- zzz") == "- "
    secrets.add("zzz top")
    assert stream.feed(" top zzzzyyyy") == f"{MASK} {MASK}"
    assert stream.flush() == ""


def test_every_one_of_many_is_masked() -> None:
    values = [f"value number {number} of many" for number in range(60)]
    assert known(*values).mask("|".join(values)) == "|".join([MASK] * 60)


@pytest.mark.parametrize("value", ["", "a", "abc", "reda", "[redacted]"])
def test_what_cannot_be_masked_is_left(value: str) -> None:
    text = f"<{value}> alphabet [redacted]"
    assert known(value).mask(text) == text


def test_it_shows_nothing_of_itself() -> None:
    secrets = known(CANARY)
    stream = secrets.stream()
    stream.feed("zebra str")
    for thing in (secrets, stream, secrets.book):
        assert "zebra" not in repr(thing)
    with pytest.raises(TypeError):
        pickle.dumps(secrets)
    with pytest.raises(TypeError):
        copy.copy(secrets)


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (CANARY, "zebra stripes forty-tw"), (CANARY, "z"), (CANARY, "%7a"), (CANARY, "\\"),
        (CANARY, "emVicmEgc3RyaXBlcyBmb3J0eS10d2"), (CANARY, "7a65"), (CANARY, "%"),
        ("a" * 64 + "b", "a"), ("sk-" + "x" * 4000, "sk-"), ("sk-" + "x" * 4000, "sk-xxxxxxx"),
    ],
    ids=range(10),
)  # fmt: skip
def test_time_is_linear(value: str, unit: str) -> None:
    secrets = known(value)
    text = unit * (100_000 // len(unit))
    started = time.process_time()
    masked = secrets.mask(text)
    stream = secrets.stream()
    parts = [stream.feed(text[at : at + 100]) for at in range(0, len(text), 100)]
    assert "".join(parts) + stream.flush() == masked
    assert time.process_time() - started < 8


def test_a_long_secret_is_followed_piece_by_piece_without_beginning_again() -> None:
    value = "".join(f"line {number} of a key\n" for number in range(800))
    secrets = known(value)
    stream = secrets.stream()
    text = json.dumps(value)
    started = time.process_time()
    parts = [stream.feed(text[at : at + 5]) for at in range(0, len(text), 5)]
    assert "".join(parts) + stream.flush() == f'"{MASK}"'
    assert time.process_time() - started < 4
