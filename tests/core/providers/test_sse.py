from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ProviderError
from core.providers.sse import SseEvent, SseParser
from tests.cases import cases


def _parse(data: bytes, cuts: list[int]) -> list[SseEvent]:
    parser = SseParser()
    events: list[SseEvent] = []
    start = 0
    for cut in [*sorted(cuts), len(data)]:
        events += parser.feed(data[start:cut])
        start = max(start, cut)
    return events


def _bytewise(data: bytes) -> list[SseEvent]:
    return _parse(data, list(range(len(data))))


def test_shared_cases_however_they_are_split() -> None:
    found = json.loads(cases("sse.json").read_text("utf-8"))["cases"]
    for chunks, expected in found:
        wanted = [SseEvent(*event) for event in expected]
        parser = SseParser()
        events = [event for chunk in chunks for event in parser.feed(chunk.encode())]
        assert events == wanted, chunks
        whole = "".join(chunks).encode()
        assert SseParser().feed(whole) == wanted, chunks
        assert _bytewise(whole) == wanted, chunks


_LINES = st.sampled_from(
    [
        b"data: a", b"data:", b"data", b"data:  two", b"data: \xe2\x82\xac",
        b"data: \xf0\x9f\x9a\x82", b"data: bad \xff\xc3 bytes", b"event: x", b"event",
        b"id: 7", b"id:", b"id: \x00", b"retry: 5", b": comment",
        b"other: y", b"", b"", b"", b"\xef\xbb\xbfdata: bom",
    ]
)  # fmt: skip
_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(_LINES, _ENDS), max_size=12), st.data())
def test_any_split_gives_the_same_events(
    lines: list[tuple[bytes, bytes]], data: st.DataObject
) -> None:
    stream = b"".join(line + end for line, end in lines)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    whole = SseParser().feed(stream)
    assert _parse(stream, cuts) == whole
    assert _bytewise(stream) == whole


def _by_the_standard(text: str) -> list[SseEvent]:
    # The standard's algorithm, line by line, on a whole text.
    events: list[SseEvent] = []
    kind, data, last = "", "", ""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for line in lines[:-1]:
        if not line:
            if data:
                events.append(SseEvent(kind or "message", data[:-1], last or None))
            kind, data = "", ""
            continue
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            kind = value
        elif field == "data":
            data += value + "\n"
        elif field == "id" and "\0" not in value:
            last = value
    return events


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(_LINES, _ENDS), max_size=12))
def test_agrees_with_the_standards_own_algorithm(lines: list[tuple[bytes, bytes]]) -> None:
    stream = b"".join(line + end for line, end in lines)
    assert SseParser().feed(stream) == _by_the_standard(stream.decode("utf-8", "replace"))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_raise(noise: bytes) -> None:
    assert _bytewise(noise) == SseParser().feed(noise)


def test_an_empty_id_resets() -> None:
    events = SseParser().feed(b"id: 1\ndata: a\n\nid:\ndata: b\n\n")
    assert events == [SseEvent("message", "a", "1"), SseEvent("message", "b", None)]


@pytest.mark.parametrize(
    "piece", [b"x", b"data: xxxxxxxxxxxxxxxxxxxx\n", b"event: yyyyyyyyyyyyyyyyyyyyyyyy\n"]
)
def test_an_event_past_the_bound_is_refused_and_not_kept(piece: bytes) -> None:
    parser = SseParser(max_event_bytes=1_000)
    with pytest.raises(ProviderError) as caught:
        for _ in range(1_001):
            parser.feed(piece)
    assert caught.value.failure_class == "malformed"


def test_many_small_events_pass_a_small_bound() -> None:
    parser = SseParser(max_event_bytes=100)
    assert len(parser.feed(b"data: 0123456789\n\n" * 1_000)) == 1_000
    assert [event for _ in range(100) for event in parser.feed(b": keep-alive\n")] == []
    assert len(parser.feed(b"data: a\n\n")) == 1


def test_a_line_of_5_mb_in_small_pieces() -> None:
    line = b"data: " + b"0123456789" * 500_000 + b"\n\n"
    parser = SseParser()
    events = [
        event
        for start in range(0, len(line), 4_096)
        for event in parser.feed(line[start : start + 4_096])
    ]
    assert [len(event.data) for event in events] == [5_000_000]
