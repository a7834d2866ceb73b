from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.model.messages import ToolCall
from core.providers._lost import LostFields
from core.providers._tool_calls import ToolCallPieces


def _piece(
    name: str | None = None,
    arguments: Any = None,
    *,
    index: int | None = None,
    call_id: str | None = None,
) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    piece: dict[str, Any] = {"type": "function"}
    piece["function"] = {key: value for key, value in function.items() if value is not None}
    if index is not None:
        piece["index"] = index
    if call_id is not None:
        piece["id"] = call_id
    return piece


def _fold(*chunks: list[dict[str, Any]], whole: bool = True) -> list[tuple[str, str, str]]:
    pieces = ToolCallPieces(LostFields())
    for chunk in chunks:
        pieces.add(chunk, "calls[]", whole=False)
    return [(call.id, call.name, call.arguments) for call in pieces.calls(whole=whole)]


def test_by_index_with_mixed_pieces() -> None:
    assert _fold(
        [_piece("a", "", index=0, call_id="c0")],
        [_piece("b", "", index=1, call_id="c1")],
        [_piece(arguments='{"x"', index=0), _piece(arguments='{"y"', index=1)],
        [_piece(arguments=":2}", index=1)],
        [_piece(arguments=":1}", index=0)],
    ) == [("c0", "a", '{"x":1}'), ("c1", "b", '{"y":2}')]


def test_by_id_where_there_is_no_index() -> None:
    assert _fold(
        [_piece("a", "{", call_id="c0")],
        [_piece("b", "[", call_id="c1")],
        [_piece(arguments="}", call_id="c0")],
        [_piece(arguments="]", call_id="c1")],
    ) == [("c0", "a", "{}"), ("c1", "b", "[]")]


def test_neither_index_nor_id_continues_the_last_call() -> None:
    assert _fold([_piece("a", '{"x"')], [_piece(arguments=":1}")]) == [("call_0", "a", '{"x":1}')]


def test_an_id_and_a_name_repeated_in_every_chunk() -> None:
    assert _fold(
        [_piece("get_weather", "", index=0, call_id="c0")],
        [_piece("get_weather", '{"city"', index=0, call_id="c0")],
        [_piece("get_weather", ':"Oslo"}', index=0, call_id="c0")],
    ) == [("c0", "get_weather", '{"city":"Oslo"}')]


def test_a_name_in_pieces() -> None:
    assert _fold(
        [_piece("get_", index=0, call_id="c0")],
        [_piece("weather", index=0)],
        [_piece(arguments="{}", index=0)],
    ) == [("c0", "get_weather", "{}")]


def test_an_id_that_changes_in_every_chunk() -> None:
    assert _fold(
        [_piece("a", "", index=0, call_id="x1")],
        [_piece(arguments="{", index=0, call_id="x2")],
        [_piece(arguments="}", index=0, call_id="x3")],
    ) == [("x1", "a", "{}")]


def test_whole_calls_that_all_claim_index_0() -> None:
    assert _fold(
        [_piece("get_weather", '{"city":"Oslo"}', index=0, call_id="c0")],
        [_piece("get_weather", '{"city":"Rome"}', index=0, call_id="c1")],
    ) == [("c0", "get_weather", '{"city":"Oslo"}'), ("c1", "get_weather", '{"city":"Rome"}')]


@pytest.mark.parametrize("call_id", [None, ""])
def test_whole_calls_without_id_or_index(call_id: str | None) -> None:
    first = _piece("get_weather", '{"city":"Oslo"}', call_id=call_id)
    second = _piece("get_weather", '{"city":"Rome"}', call_id=call_id)
    expected = [
        ("call_0", "get_weather", '{"city":"Oslo"}'),
        ("call_1", "get_weather", '{"city":"Rome"}'),
    ]
    assert _fold([first, second]) == expected
    assert _fold([first], [second]) == expected


def test_one_id_for_several_indexes_is_several_calls_with_ids_of_their_own() -> None:
    assert _fold(
        [_piece("a", "{}", index=0, call_id="c"), _piece("b", "{}", index=1, call_id="c")]
    ) == [("c", "a", "{}"), ("c-2", "b", "{}")]


def test_empty_arguments_stay_empty() -> None:
    assert _fold([_piece("a", "", index=0, call_id="c0")]) == [("c0", "a", "")]
    assert _fold([_piece("a", index=0, call_id="c0")]) == [("c0", "a", "")]


def test_arguments_that_are_no_json_stay_as_sent() -> None:
    assert _fold([_piece("a", '{"x": NaN, "y', index=0, call_id="c")]) == [
        ("c", "a", '{"x": NaN, "y')
    ]


def test_arguments_sent_as_an_object() -> None:
    assert _fold([_piece("a", {"city": "Zürich"}, index=0, call_id="c0")]) == [
        ("c0", "a", '{"city": "Zürich"}')
    ]


def test_of_a_cut_answer_only_complete_calls_remain() -> None:
    chunks = (
        [_piece("a", '{"x":1}', index=0, call_id="c0")],
        [_piece("b", '{"y":', index=1, call_id="c1")],
        [_piece("c", "", index=2, call_id="c2")],
    )
    assert _fold(*chunks, whole=False) == [("c0", "a", '{"x":1}')]
    assert len(_fold(*chunks)) == 3


def test_a_whole_answer_takes_each_entry_as_a_call() -> None:
    pieces = ToolCallPieces(LostFields())
    same = _piece("a", "{}", index=0, call_id="c")
    pieces.add([same, same, _piece("b", "{}", index=0, call_id="c")], "calls[]", whole=True)
    assert pieces.calls(whole=True) == (
        ToolCall("c", "a", "{}"),
        ToolCall("c-2", "a", "{}"),
        ToolCall("c-3", "b", "{}"),
    )


def test_what_is_no_function_call_is_reported() -> None:
    lost = LostFields()
    pieces = ToolCallPieces(lost)
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    pieces.add([custom, "?"], "calls[]", whole=True)
    assert pieces.calls(whole=True) == ()
    assert lost.paths() == ["calls[].custom", "calls[]"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), st.text(max_size=20)),
        min_size=1,
        max_size=4,
    ),
    st.randoms(use_true_random=False),
)
def test_calls_cut_anywhere_and_mixed_come_back_whole(
    calls: list[tuple[str, str]], random: Any
) -> None:
    queues = []
    for index, (name, arguments) in enumerate(calls):
        queue = [_piece(name, "", index=index, call_id=f"c{index}")]
        start = 0
        while start < len(arguments):
            end = random.randint(start + 1, len(arguments))
            queue.append(_piece(arguments=arguments[start:end], index=index))
            start = end
        queues.append(queue)
    # Calls begin in their order; after that, pieces come in any.
    chunks = [[queue.pop(0)] for queue in queues]
    while any(queues):
        chunks.append([random.choice([queue for queue in queues if queue]).pop(0)])
    expected = [(f"c{number}", *call) for number, call in enumerate(calls)]
    assert _fold(*chunks) == expected
