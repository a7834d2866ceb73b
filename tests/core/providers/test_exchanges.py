from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from core.errors import ProviderError
from core.model.messages import ModelResponse
from core.model.words import FailureClass
from core.providers import parse_exchange
from core.providers.openai_chat import StreamDecoder
from tests.cases import cases

_OWN = Path(__file__).parents[2] / "data" / "exchanges"


def _body(case: Mapping[str, Any]) -> str:
    if "chunks" not in case:
        return json.dumps(case["body"])
    lines = []
    for chunk in case["chunks"]:
        data = chunk if isinstance(chunk, str) else json.dumps(chunk)
        lines.append(data if data.startswith(":") else f"data: {data}")
    return "".join(f"{line}\n\n" for line in lines)


def _feed(body: bytes, size: int) -> tuple[StreamDecoder, dict[str, str]]:
    decoder = StreamDecoder()
    heard = {"text": "", "thinking": ""}
    for start in range(0, len(body), size):
        for kind, text in decoder.feed(body[start : start + size]):
            heard[kind] += text
    return decoder, heard


@pytest.mark.parametrize("path", sorted(_OWN.glob("*.json")), ids=lambda path: path.stem)
def test_own_cases(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    expect, body = case["expect"], _body(case)
    if "failure_class" in expect:
        with pytest.raises(ProviderError) as caught:
            parse_exchange("openai-chat", case["status"], case["content_type"], body)
        assert caught.value.failure_class == expect["failure_class"]
        assert len(caught.value.what) < 400
        if "absent" in expect:
            assert expect["absent"] not in f"{caught.value!r} {caught.value.what}"
        return
    response = parse_exchange("openai-chat", case["status"], case["content_type"], body.encode())
    for name in ("text", "thinking", "finish_reason", "unrepresented"):
        if name in expect:
            assert getattr(response, name) == expect[name]
    usage = response.usage
    assert usage.requests == 1
    if "usage" in expect:
        assert [usage.input_tokens, usage.output_tokens, usage.estimated] == expect["usage"]
    assert usage.cost_usd == expect.get("cost_usd")
    calls = [[call.id, call.name, call.arguments] for call in response.tool_calls]
    assert calls == expect.get("tool_calls", [])
    if "chunks" in case:
        for size in (1, 7, len(body)):
            decoder, heard = _feed(body.encode(), size)
            assert decoder.finish() == response
            assert (heard["text"], heard["thinking"]) == (response.text, response.thinking)


# What :class:`ModelResponse` holds, as leaves of the wire's JSON.
_REPRESENTED = re.compile(
    r"""(x_groq\.)?usage\.(prompt_tokens|completion_tokens|total_tokens)
    | usage\.(cost|is_byok|cost_details\..*)
    | choices\[\]\.finish_reason
    | choices\[\]\.(delta|message)\.(content|reasoning|reasoning_content)
    | choices\[\]\.(delta|message)\.content\[\]\.(type|text|thinking\[\]\.(type|text))
    | choices\[\]\.(delta|message)\.reasoning_details\[\]\.text
    | choices\[\]\.(delta|message)\.tool_calls\[\]\.(index|id|type|function\.(name|arguments))""",
    re.VERBOSE,
)
# About the service and not about the answer.
_IGNORABLE = re.compile(
    r"""id|object|created|model|provider|system_fingerprint|service_tier|obfuscation|request_id
    | user_id | x_groq\..* | time_info\..* | sla_metrics\..*
    | usage\.(queue|prompt|completion|total)_time
    | choices\[\]\.(index|seed|native_finish_reason)
    | choices\[\]\.(delta|message)\.role
    | choices\[\]\.(delta|message)\.reasoning_details\[\]\.(format|id|index|type)""",
    re.VERBOSE,
)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, f"{path}[]")
    elif value:
        yield path, value


def _objects(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "event-stream" not in case["content_type"]:
        return [json.loads(case["body"])]
    data = re.findall(r"^data: ?(.*)$", case["body"], re.MULTILINE)
    return [json.loads(item) for item in data if item != "[DONE]"]


def _check_nothing_lost(objects: list[dict[str, Any]], response: ModelResponse) -> None:
    reported = [re.sub(r"\[\d+\]", "[]", path) for path in response.unrepresented]
    for found in objects:
        for leaf, value in _leaves(found):
            if _REPRESENTED.fullmatch(leaf) or _IGNORABLE.fullmatch(leaf):
                continue
            covered = any(
                leaf == path or leaf.startswith((path + ".", path + "[")) for path in reported
            )
            assert covered, f"{leaf} = {value!r} is lost"


def _check_content(objects: list[dict[str, Any]], response: ModelResponse, part: str) -> None:
    # Put together here without the decoder's help.
    texts: list[str] = []
    arguments: dict[int, str] = {}
    names: dict[int, str] = {}
    for found in objects:
        for choice in found["choices"]:
            content = choice[part].get("content")
            texts.append(content if isinstance(content, str) else "")
            for item in content if isinstance(content, list) else ():
                texts.append(item.get("text", ""))
            for number, call in enumerate(choice[part].get("tool_calls") or ()):
                index, function = call.get("index", number), call["function"]
                names[index] = names.get(index) or function["name"]
                arguments[index] = arguments.get(index, "") + function["arguments"]
    assert response.text == "".join(texts)
    assert [call.arguments for call in response.tool_calls] == list(arguments.values())
    assert [call.name for call in response.tool_calls] == list(names.values())
    for call in response.tool_calls:
        assert call.id
        assert isinstance(json.loads(call.arguments), dict)


_FAILURES = {
    "demo-endpoints-pydantic-work.json.200.cc5e79": FailureClass.MALFORMED,
    "openrouter-ai.sse.200.460d09": FailureClass.CLIENT_ERROR,
}
_STATUS = {
    400: FailureClass.CLIENT_ERROR,
    404: FailureClass.CLIENT_ERROR,
    429: FailureClass.RATE_LIMIT,
}


def _recorded() -> list[str]:
    near = Path(__file__).parents[4] / "shared" / "cases"
    root = Path(os.environ.get("STEPBRAKE_CASES", near)) / "wire"
    # Without them one test remains, which says that it was skipped.
    return sorted(path.name for path in root.glob("openai-chat*.json")) or ["none.sse.json"]


@pytest.mark.parametrize("name", _recorded())
def test_recorded_exchanges(name: str) -> None:
    case = json.loads(cases(f"wire/{name}").read_text("utf-8"))
    status, content_type, body = case["status"], case["content_type"], case["body"]
    failure = _STATUS.get(status) or _FAILURES.get(name.split(".", 1)[1].removesuffix(".json"))
    if failure is not None:
        with pytest.raises(ProviderError) as caught:
            parse_exchange("openai-chat", status, content_type, body)
        assert caught.value.failure_class == failure
        return
    response = parse_exchange("openai-chat", status, content_type, body)
    objects = _objects(case)
    streamed = "event-stream" in content_type
    _check_nothing_lost(objects, response)
    _check_content(objects, response, "delta" if streamed else "message")
    assert response.finish_reason
    assert response.text or response.tool_calls
    assert response.usage.requests == 1
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens > 0
    assert not response.usage.estimated
    if streamed:
        for size in (1, 61):
            decoder, heard = _feed(body.encode(), size)
            assert decoder.finish() == response
            assert heard == {"text": response.text, "thinking": response.thinking}


@pytest.mark.parametrize("name", [name for name in _recorded() if ".sse." in name])
def test_a_recorded_stream_cut_anywhere_before_its_end_is_incomplete(name: str) -> None:
    body = json.loads(cases(f"wire/{name}").read_text("utf-8"))["body"].encode()
    events = [match.end() for match in re.finditer(rb"\n\n", body)]
    whole, _ = _feed(body, len(body))
    for cut in [0, *events[:: max(1, len(events) // 12)], *events[-4:]]:
        decoder, heard = _feed(body[:cut], len(body))
        partial = decoder.partial()
        assert partial.text == heard["text"]
        if decoder.whole or whole.failure is not None:
            continue
        assert partial.finish_reason == ""
        with pytest.raises(ProviderError) as caught:
            decoder.finish()
        assert caught.value.failure_class == FailureClass.INCOMPLETE_STREAM
        for call in partial.tool_calls:
            assert isinstance(json.loads(call.arguments), dict)


def test_another_format_is_a_matter_of_configuration() -> None:
    with pytest.raises(ProviderError) as caught:
        parse_exchange("smoke-signals", 200, "application/json", b"{}")
    assert caught.value.failure_class == FailureClass.CONFIGURATION
