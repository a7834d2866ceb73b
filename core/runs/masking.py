"""What a step brought in, without the secrets that this process knows.

It is masked before anybody gets it: the store, followers, and the next model call.
"""

from __future__ import annotations

from dataclasses import replace

from core.agent import ToolReply
from core.errors import ProviderError
from core.model.messages import ModelResponse, ToolCall
from core.providers.base import ModelReply
from core.text import MASK, KnownSecrets


def masked_model(reply: ModelReply, known: KnownSecrets) -> ModelReply:
    """Return a model's reply with every known secret masked."""
    return replace(
        reply,
        response=_response(reply.response, known),
        error=None if reply.error is None else _error(reply.error, known),
    )


def masked_tool(reply: ToolReply, known: KnownSecrets) -> ToolReply:
    """Return a tool's reply with every known secret masked."""
    error = reply.error
    if error is not None:
        error = replace(error, code=known.mask(error.code), message=known.mask(error.message))
    return replace(reply, result=known.mask(reply.result), error=error)


def _response(response: ModelResponse, known: KnownSecrets) -> ModelResponse:
    mask = known.mask
    masked = replace(
        response,
        text=mask(response.text),
        thinking=mask(response.thinking),
        tool_calls=tuple(
            ToolCall(id=mask(call.id), name=mask(call.name), arguments=mask(call.arguments))
            for call in response.tool_calls
        ),
        finish_reason=mask(response.finish_reason),
        unrepresented=[mask(path) for path in response.unrepresented],
    )
    if response.raw is None:
        return masked
    # A streamed body has the same secret in pieces, which nothing can find there.
    return replace(masked, raw=mask(response.raw) if masked == response else MASK)


def _error(error: ProviderError, known: KnownSecrets) -> ProviderError:
    masked = ProviderError(
        known.mask(error.what),
        failure_class=error.failure_class,
        retry_after=error.retry_after,
        where=known.mask(error.where),
        hint=known.mask(error.hint),
    )
    same = (masked.what, masked.where, masked.hint) == (error.what, error.where, error.hint)
    return error if same else masked
