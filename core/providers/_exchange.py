"""Reading a recorded exchange: the decoders without a network."""

from __future__ import annotations

from core.errors import ProviderError
from core.model.messages import ModelResponse
from core.model.words import FailureClass
from core.providers._chat_whole import decode_answer
from core.providers._failures import answered


def parse_exchange(
    format: str,  # noqa: A002 - a fixed name of the contract
    status: int,
    content_type: str,
    body: bytes | str,
) -> ModelResponse:
    """Return what a provider's answer says.

    Args:
        format: the wire format; ``openai-chat``.
        status: the HTTP status.
        content_type: the answer's content type: an event stream, or else JSON.
        body: the whole body; text is taken as UTF-8.

    Raises:
        ProviderError: the answer is a failure; ``failure_class`` says of which kind.
    """
    if format != "openai-chat":
        raise ProviderError(
            "No decoder for this wire format",
            failure_class=FailureClass.CONFIGURATION,
            where=format,
            hint="Known formats: openai-chat.",
        )
    content = body.encode("utf-8", "replace") if isinstance(body, str) else body
    if not 200 <= status < 300:
        raise answered(status, content)
    return decode_answer(content_type, content)
