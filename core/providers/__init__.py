"""Model providers: wire formats on one side, ``core.model`` messages on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.providers._exchange import parse_exchange
    from core.providers.base import ModelReply, OnDelta, Provider, StreamingClient
    from core.providers.openai_chat import OpenAIChat

__all__ = [
    "ModelReply",
    "OnDelta",
    "OpenAIChat",
    "Provider",
    "StreamingClient",
    "parse_exchange",
]

_HOMES = {
    "ModelReply": "core.providers.base",
    "OnDelta": "core.providers.base",
    "OpenAIChat": "core.providers.openai_chat",
    "Provider": "core.providers.base",
    "StreamingClient": "core.providers.base",
    "parse_exchange": "core.providers._exchange",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
