from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from core.demo import SCENES
from core.demo._chat import ChatRequest
from core.demo._prose import essay, tokens
from core.demo.scenes import Answer, Conversation, Fault, Silence, react

_START = Conversation(base_url="http://127.0.0.1:1", prompt="What about Kyoto?")


def _answer(scene: str, conversation: Conversation) -> Answer:
    reaction = react(scene, conversation)
    assert isinstance(reaction, Answer)
    return reaction


def _calls(scene: str, turns: int) -> list[list[str]]:
    return [
        [call.name for call in _answer(scene, replace(_START, turn=turn)).calls]
        for turn in range(turns)
    ]


def test_every_scene_reacts_the_same_way_each_time() -> None:
    for scene in SCENES:
        for turn in range(4):
            conversation = replace(_START, turn=turn)
            assert react(scene, conversation) == react(scene, conversation)


def test_weather_takes_three_rounds_and_knows_the_city() -> None:
    assert _calls("weather", 3) == [["get_weather"], ["http_get"], []]
    first, second, third = (_answer("weather", replace(_START, turn=turn)) for turn in range(3))
    assert json.loads(first.calls[0].arguments) == {"city": "Kyoto"}
    assert json.loads(second.calls[0].arguments) == {
        "url": "http://127.0.0.1:1/api/forecast?city=Kyoto"
    }
    assert "Kyoto" in "".join(third.text)


def test_loop_never_ends() -> None:
    assert _calls("loop", 50) == [["get_weather"]] * 50


def test_parallel_asks_for_three_at_once() -> None:
    assert _calls("parallel", 2) == [["get_weather"] * 3, []]


def test_slow_tool_counts_to_ten() -> None:
    assert _calls("slow-tool", 2) == [["slow_count"], []]
    assert json.loads(_answer("slow-tool", _START).calls[0].arguments) == {"seconds": 10}


def test_flaky_fails_twice_and_denied_and_stall_always() -> None:
    reactions = [react("flaky", replace(_START, attempt=attempt)) for attempt in range(3)]
    assert [r.status for r in reactions if isinstance(r, Fault)] == [500, 429]
    assert isinstance(reactions[2], Answer)
    denied = react("denied", _START)
    assert isinstance(denied, Fault)
    assert denied.status == 401
    assert isinstance(react("stall", _START), Silence)


def test_malformed_is_wrong_twice_and_then_right() -> None:
    assert _calls("malformed", 4) == [["get_weather"], ["get_wether"], ["get_weather"], []]
    with pytest.raises(json.JSONDecodeError):
        json.loads(_answer("malformed", _START).calls[0].arguments)


def test_hostile_attacks_with_text_arguments_names_and_length() -> None:
    first = _answer("hostile", _START)
    for text in ("".join(first.text), first.calls[0].arguments, first.calls[2].name):
        assert re.search(r"\x1b|\\u001b", text)
    second = _answer("hostile", replace(_START, turn=1))
    assert max(map(len, "".join(second.text).split("\n"))) == 5_000_000


def test_without_tools_no_scene_asks_for_one() -> None:
    for scene in SCENES:
        reaction = react(scene, replace(_START, tools=False))
        assert not isinstance(reaction, Answer) or not reaction.calls


def test_the_essay_is_3_000_tokens_of_prose() -> None:
    text = "".join(essay())
    assert len(essay()) == 3_000
    assert text.endswith(".")
    assert all(piece.strip() for piece in essay())
    sentences = re.findall(r"[A-Z][^.!?]*[.!?]", text)
    assert len(set(sentences)) > len(sentences) * 0.7
    assert not re.search(r"\b[Aa] [aeiou]", text), "an article does not fit its word"
    # The same text in every process.
    code = "from core.demo._prose import essay; import hashlib;"
    code += "print(hashlib.sha256(''.join(essay()).encode()).hexdigest())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    import hashlib

    assert run.stdout.strip() == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("text", ["a b", " a\n\nb ", "", "one", "äö  ü\t"])
def test_tokens_join_to_their_text(text: str) -> None:
    assert "".join(tokens(text)) == text


def _parsed(**more: object) -> ChatRequest:
    return ChatRequest.parse(json.dumps({"model": "demo", "messages": [], **more}).encode())


def test_a_turn_counts_from_the_last_word_of_the_user() -> None:
    said: list[dict[str, object]] = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": [{"type": "text", "text": "second"}]},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "content": "b"},
    ]
    conversation = _parsed(messages=said).conversation(base_url="", attempt=0)
    assert (conversation.prompt, conversation.turn) == ("second", 2)


def test_tokens_of_a_prompt_do_not_depend_on_the_port() -> None:
    def read(port: int) -> int:
        content = f"http://127.0.0.1:{port}/api/forecast?city=Oslo"
        return _parsed(messages=[{"role": "user", "content": content}]).prompt_tokens

    assert read(80) == read(40_123) > 0


def test_naming_the_scenes_loads_no_server() -> None:
    code = "import sys, core.demo; core.demo.SCENES; print('asyncio' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
