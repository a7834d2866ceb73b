"""Token counts: the provider's where it gives them, ours where it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.model.messages import ModelRequest
from core.model.usage import Usage
from core.providers._lost import LostFields

# Names of durations say nothing about what was spent.
_KNOWN = frozenset(
    {
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "cost",
        "cost_details",
        "is_byok",
        "queue_time",
        "prompt_time",
        "completion_time",
        "total_time",
    }
)


def estimated_tokens(characters: int) -> int:
    """Return a guess at the tokens in so many characters: four a token, rounded up."""
    return -(-characters // 4)


def estimated_input(request: ModelRequest) -> int:
    """Return a guess at the tokens that ``request`` makes a model read."""
    characters = 0
    for message in request.messages:
        characters += len(message.content)
        characters += sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    for tool in request.tools:
        characters += len(tool.name) + len(tool.description)
        characters += len(json.dumps(dict(tool.parameters)))
    return estimated_tokens(characters)


def parse_usage(found: Any, lost: LostFields) -> Usage | None:
    """Read a ``usage`` object, or return None if ``found`` holds no counts.

    Args:
        found: the wire's value.
        lost: is told of counts that :class:`Usage` has no place for, such as cached tokens,
            and of a total that is not the sum of its parts.
    """
    if not isinstance(found, Mapping):
        return None
    read = _count(found, "prompt_tokens", "input_tokens")
    written = _count(found, "completion_tokens", "output_tokens")
    if read is None and written is None:
        return None
    usage = Usage(
        requests=1,
        input_tokens=read or 0,
        output_tokens=written or 0,
        cost_usd=_cost(found),
        estimated=read is None or written is None,
    )
    lost.note_unknown(found, "usage", _KNOWN)
    total = _count(found, "total_tokens")
    if total and total != usage.total_tokens:
        lost.note("usage.total_tokens")
    return usage


def _count(found: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = found.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
            return value
    return None


def _cost(found: Mapping[str, Any]) -> float | None:
    """Return US dollars as OpenRouter counts them.

    With the caller's own key at the upstream provider, ``cost`` is only the router's fee.
    Source: OpenRouter, "Usage accounting".
    """
    cost = _dollars(found.get("cost"))
    if cost is None or not found.get("is_byok"):
        return cost
    details = found.get("cost_details")
    upstream = details.get("upstream_inference_cost") if isinstance(details, Mapping) else None
    return cost + (_dollars(upstream) or 0.0)


def _dollars(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9:
        return float(value)
    return None
