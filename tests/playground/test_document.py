from __future__ import annotations

import json

import pytest

from core.model import CancelLevel, Event, InFlight, StepOutcome, Usage
from playground.state.block import Block, Tone
from playground.state.document import Tab, document, pick_tab, pretty_json, tabs
from playground.state.gist import gist
from playground.state.run import RunView
from playground.state.stream import StreamText
from tests.playground.events import CALL, Script


def _view(*events: Event) -> RunView:
    view = RunView()
    view.apply(events)
    return view


def _text(blocks: list[Block]) -> str:
    return "".join(
        block.text.kept if isinstance(block.text, StreamText) else block.text for block in blocks
    )


def _whole(script: Script) -> RunView:
    s = script
    return _view(
        s.started(),
        s.assembled(),
        s.request(),
        s.response(
            "Let me look.", thinking="A tool.", tool_calls=(CALL,), raw='{"id": 1}', call_ids=("c",)
        ),
        s.tool_started(),
        s.tool("8 °C"),
        s.request("2.1", 2, messages=3),
        s.response("Rain.", "2.1", 2),
        s.completed(),
    )


def test_tabs_without_content_are_absent() -> None:
    view = _whole(Script())
    assembled, model, tool, _, end = view.rows
    assert tabs(assembled) == {Tab.MESSAGES, Tab.TOOLS, Tab.STRUCTURED}
    assert tabs(model) == {
        Tab.MESSAGES,
        Tab.TOOLS,
        Tab.STRUCTURED,
        Tab.RAW,
        Tab.THINKING,
        Tab.ARGUMENTS,
        Tab.RESULT,
        Tab.ARTIFACTS,
    }
    assert tabs(tool) == {Tab.ARGUMENTS, Tab.STRUCTURED, Tab.RESULT}
    assert tabs(end) == {Tab.STRUCTURED, Tab.RESULT}


@pytest.mark.parametrize(
    ("row", "tab", "said"),
    [
        (0, Tab.MESSAGES, "user\nWeather?"),
        (0, Tab.TOOLS, "on offer\nget_weather"),
        (1, Tab.RESULT, "Let me look."),
        (1, Tab.THINKING, "A tool."),
        (1, Tab.TOOLS, "asked for\nget_weather  call_1"),
        (1, Tab.ARGUMENTS, 'get_weather\n{\n  "city": "Bergen"\n}'),
        (1, Tab.RAW, '{"id": 1}'),
        (1, Tab.ARTIFACTS, "1 outbound call\nc"),
        (2, Tab.RESULT, "8 °C"),
        (3, Tab.MESSAGES, "tool · call_1\n8 °C"),
        (4, Tab.RESULT, "answer\nRain."),
    ],
)
def test_each_tab_says_its_part(row: int, tab: Tab, said: str) -> None:
    view = _whole(Script())
    assert said in _text(document(view, view.rows[row], tab))


def test_the_structured_tab_is_the_events_public_form() -> None:
    view = _whole(Script())
    shown = json.loads(_text(document(view, view.rows[1], Tab.STRUCTURED)))
    assert shown["kind"] == "response"
    assert shown["tool_calls"][0]["name"] == "get_weather"


def test_a_live_model_call_shows_its_thinking_until_it_speaks() -> None:
    s = Script()
    view = _view(s.started(), s.assembled(), s.request())
    row = view.rows[1]
    assert pick_tab(row, None) is Tab.RESULT
    view.apply([s.delta("", 0, thinking="Hm.")])
    assert pick_tab(row, None) is Tab.THINKING
    view.apply([s.delta("It is", 0)])
    assert pick_tab(row, None) is Tab.RESULT
    assert document(view, row, Tab.RESULT)[-1].text is row.text


def test_a_running_tool_shows_what_it_prints_and_then_its_result() -> None:
    s = Script()
    view = _view(s.started(), s.tool_started(), s.output("1\n2\n", 0))
    row = view.rows[0]
    assert _text(document(view, row, Tab.RESULT)) == "1\n2\n"
    view.apply([s.tool("done")])
    assert _text(document(view, row, Tab.RESULT)) == "done"


def test_a_step_of_another_process_says_that_its_text_comes_at_its_end() -> None:
    script = Script()
    view = RunView(attached=True)
    view.apply([script.started(), script.assembled(), script.request()])
    row = view.rows[-1]
    assert gist(row).text == "at work in another process"
    assert "comes when the step ends" in _text(document(view, row, Tab.RESULT))
    view.apply([script.response("Rain.")])
    assert _text(document(view, row, Tab.RESULT)) == "Rain."


def test_a_tab_chosen_by_hand_stays_where_it_has_content() -> None:
    view = _whole(Script())
    assert pick_tab(view.rows[1], Tab.ARGUMENTS) is Tab.ARGUMENTS
    assert pick_tab(view.rows[3], Tab.ARGUMENTS) is Tab.RESULT


def test_the_receipt_says_who_when_where_and_what_it_cost() -> None:
    s = Script()
    view = _view(
        s.started(),
        s.request(),
        s.cancelled(
            CancelLevel.ABORT,
            usage_in_flight=Usage(1, 50, 9, None, True),
            calls_aborted=("call-7",),
            credentials_exposed=("demo",),
            left_running=(InFlight("1.4", "tool_started", "slow_count"),),
        ),
    )
    blocks = document(view, view.rows[-1], Tab.RESULT)
    said = _text(blocks)
    for part in (
        "■ cancelled by abort",
        "ann",
        "enough",
        "(1.3 s later)",
        "model m (1.1)",
        "100 in, 20 out",
        "~50 in, 9 out",
        "call-7",
        "demo",
        "slow_count (1.4)",
        "partial answer\nPartly cl",
    ):
        assert part in said
    nothing = next(block for block in blocks if block.text == "nothing\n")
    assert nothing.tone is Tone.GOOD
    assert all(block.tone is not Tone.BAD for block in blocks)


def test_spending_after_the_request_would_be_said_loudly() -> None:
    s = Script()
    view = _view(s.started(), s.cancelled(usage_after_request=Usage(1, 5, 5)))
    blocks = document(view, view.rows[-1], Tab.RESULT)
    assert any(block.tone is Tone.WARN and "5 in, 5 out" in str(block.text) for block in blocks)


def test_a_failure_says_why_and_a_refused_tool_too() -> None:
    s = Script()
    view = _view(
        s.started(),
        s.tool_started(),
        s.tool("bad arguments", outcome=StepOutcome.ERROR),
        s.failed(),
    )
    assert "auth" in _text(document(view, view.rows[-1], Tab.RESULT))
    assert "bad arguments" in _text(document(view, view.rows[0], Tab.RESULT))


@pytest.mark.parametrize("text", ["not json", '{"a": ', "[" * 5_000, "x" * 200_000, '{"a":1}'])
def test_json_is_made_pretty_only_where_it_is_json(text: str) -> None:
    assert pretty_json(text) == ('{\n  "a": 1\n}' if text == '{"a":1}' else text)
