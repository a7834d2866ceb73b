"""Model providers: wire formats on one side, ``core.model`` messages on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy

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

__getattr__ = lazy(__name__, _HOMES)
