"""Whatever a server sends, the decoders answer with a response or a failure class."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ProviderError
from core.model.messages import ModelResponse
from core.model.words import FailureClass
from core.providers import parse_exchange
from core.providers.openai_chat import StreamDecoder

_KEYS = [
    "choices", "delta", "message", "content", "tool_calls", "function", "arguments", "name", "id",
    "index", "type", "text", "thinking", "reasoning", "reasoning_content", "reasoning_details",
    "finish_reason", "usage", "prompt_tokens", "completion_tokens", "total_tokens", "cost",
    "is_byok", "cost_details", "x_groq", "error", "code", "object", "metadata", "raw", "detail",
    "surprise",
]  # fmt: skip
_WORDS = ["text", "thinking", "error", "stop", "", "{}", '{"a":1}', "\ud83d", "\ude82x", "429"]
_LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**60),
    st.floats(allow_nan=True),
    st.sampled_from(_WORDS),
)
_ANYTHING: st.SearchStrategy[Any] = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


# For places deep inside the format, where a whole tree of anything is rarely reached.
_ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 2.5, "", "x", "\ud83d", "{}", [], [1], ["a"], {}, {"a": 1}, [{"text": "t"}]]
)


def _near(**places: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with any of its places missing, or with something odd in it."""
    return st.fixed_dictionaries(
        {}, optional={name: st.one_of(place, _ODD) for name, place in places.items()}
    )


def _shape(part: str) -> st.SearchStrategy[Any]:
    """An object near the format."""
    word = st.sampled_from(_WORDS)
    call = _near(
        index=st.integers(0, 1),
        id=st.sampled_from(["c0", "c1"]),
        custom=_ODD,
        function=_near(name=st.sampled_from(["f", "g"]), arguments=word),
    )
    kind = st.sampled_from(["text", "thinking", "image_url"])
    content = st.lists(_near(type=kind, text=word, thinking=_ODD), max_size=2)
    detail = _near(type=word, text=word, signature=word)
    message = _near(
        content=st.one_of(word, content),
        reasoning=word,
        reasoning_content=word,
        reasoning_details=st.lists(detail, max_size=2),
        tool_calls=st.lists(call, max_size=3),
        surprise=_ODD,
    )
    choice = st.fixed_dictionaries(
        {part: message},
        optional={
            "index": st.one_of(st.integers(0, 1), _ODD),
            "finish_reason": st.one_of(word, _ODD),
            "error": st.one_of(st.none(), _near(code=_ODD, message=word, type=word)),
        },
    )
    counts = _near(prompt_tokens=st.integers(0, 9), completion_tokens=st.integers(0, 9), cost=_ODD)
    return st.fixed_dictionaries(
        {"choices": st.one_of(st.lists(choice, min_size=1, max_size=2), _ODD)},
        optional={
            "usage": counts,
            "x_groq": st.one_of(st.none(), _near(usage=counts, error=_ODD)),
            "error": st.one_of(st.none(), _near(code=_ODD, message=_ODD, metadata=_ODD)),
            "object": _ODD,
        },
    )


def _parsed(status: int, content_type: str, body: bytes) -> ModelResponse | None:
    try:
        response = parse_exchange("openai-chat", status, content_type, body)
    except ProviderError as error:
        assert error.failure_class in set(FailureClass)
        error.what.encode("utf-8")
        return None
    assert response.finish_reason
    calls = [call.id + call.name + call.arguments for call in response.tool_calls]
    for text in (response.text, response.thinking, *calls):
        text.encode("utf-8")
    ids = [call.id for call in response.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    return response


@settings(max_examples=150, deadline=None)
@given(st.one_of(_shape("message"), _ANYTHING), st.sampled_from([200, 400, 429, 500]))
def test_any_json_answer(found: Any, status: int) -> None:
    _parsed(status, "application/json", json.dumps(found).encode())


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(_shape("delta"), _ANYTHING), max_size=4), st.booleans())
def test_any_stream_and_its_deltas_say_the_same(chunks: list[Any], done: bool) -> None:
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    body += b"data: [DONE]\n\n" if done else b""
    response = _parsed(200, "text/event-stream", body)
    decoder = StreamDecoder(raw=True)
    heard = {"text": "", "thinking": ""}
    for start in range(0, len(body), 40):
        for kind, text in decoder.feed(body[start : start + 40]):
            heard[kind] += text
    partial = decoder.partial()
    assert heard == {"text": partial.text, "thinking": partial.thinking}
    assert decoder.whole == (response is not None)
    if response is not None:
        whole = decoder.finish()
        assert (whole.text, whole.tool_calls) == (response.text, response.tool_calls)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=120), st.sampled_from(["text/event-stream", "application/json", ""]))
def test_any_bytes(body: bytes, content_type: str) -> None:
    _parsed(200, content_type, body)


def test_json_that_is_too_deep_is_malformed() -> None:
    deep = b'{"choices": ' + b"[" * 100_000
    assert _parsed(200, "application/json", deep) is None
    decoder = StreamDecoder()
    assert decoder.feed(b"data: " + deep + b"\n\n") == []
    assert decoder.failure is not None
    assert decoder.failure.failure_class == FailureClass.MALFORMED
