"""A whole answer in the OpenAI chat format."""

from __future__ import annotations

from dataclasses import replace

from core.errors import ProviderError
from core.model.messages import ModelResponse
from core.model.words import FailureClass
from core.providers._chat_fold import ChatFold
from core.providers._chat_stream import StreamDecoder
from core.providers._failures import Mask
from core.providers._json import parse_object


def is_stream(content_type: str) -> bool:
    """Tell whether a body of this content type is an event stream."""
    return content_type.partition(";")[0].strip().lower() == "text/event-stream"


def decode_answer(
    content_type: str,
    body: bytes,
    *,
    input_estimate: int = 0,
    raw: bool = False,
    mask: Mask = str,
) -> ModelResponse:
    """Read the body of an answer with status 2xx.

    Args:
        content_type: says whether the body is a stream.
        body: all of it.
        input_estimate: tokens of the request, for a server that counts none.
        raw: keep the body's text on the response.
        mask: takes known secrets out of the server's words that are shown cut or altered.

    Raises:
        ProviderError: the body reports an error, is cut short, or does not have the format.
    """
    if is_stream(content_type):
        decoder = StreamDecoder(input_estimate=input_estimate, raw=raw, mask=mask)
        decoder.feed(body)
        return decoder.finish()
    found = parse_object(body, what="The answer")
    fold = ChatFold("message", input_estimate=input_estimate, mask=mask)
    for _ in fold.add(found):
        pass
    if not found.get("choices"):
        raise ProviderError("The answer holds no choice", failure_class=FailureClass.MALFORMED)
    response = fold.response(whole=True)
    return replace(response, raw=body.decode("utf-8", "replace")) if raw else response
