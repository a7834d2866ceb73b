"""The OpenAI chat format, as OpenAI and all who copied it speak it."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.clock import Clock, SystemClock
from core.errors import HttpError, ProviderError, RequestCancelled, SecretUnavailable
from core.model.messages import ModelRequest, ModelResponse
from core.model.usage import Usage
from core.model.words import StepOutcome
from core.providers._chat_request import encode
from core.providers._chat_stream import StreamDecoder
from core.providers._chat_whole import decode_answer, is_stream
from core.providers._failures import answered, transported, unreached, unsent
from core.providers._usage import estimated_input
from core.providers.base import ModelReply, OnDelta, StreamingClient

if TYPE_CHECKING:
    from core.http import CancelSignal, Request, ResponseStream

__all__ = ["OpenAIChat", "StreamDecoder", "encode"]

MAX_ERROR_BYTES = 64 * 1024
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_REST_BYTES = 16 * 1024


class OpenAIChat:
    """One server that speaks the OpenAI chat format.

    Args:
        base_url: the server's API root, e.g. ``https://api.openai.com/v1``;
            ``/chat/completions`` is appended.
        headers: sent with every call beside the format's own.
        clock: says what time it is, for a ``Retry-After`` that is a date.
        mask: takes known secrets out of the server's words that are shown cut or altered;
            what is kept whole, the caller masks.
    """

    name = "openai-chat"

    def __init__(
        self,
        base_url: str,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        clock: Clock | None = None,
        mask: Callable[[str], str] = str,
    ) -> None:
        self._mask = mask
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._headers = headers
        self._clock = clock or SystemClock()
        # OpenAI's newer models refuse the older name; most other servers know only that.
        host = urlsplit(base_url).hostname or ""
        self._limit_field = "max_completion_tokens" if host == "api.openai.com" else "max_tokens"

    async def respond(
        self,
        request: ModelRequest,
        *,
        http: StreamingClient,
        signal: CancelSignal,
        on_delta: OnDelta,
    ) -> ModelReply:
        """Make one call; see :meth:`core.providers.Provider.respond`."""
        decoder = StreamDecoder(
            input_estimate=estimated_input(request), raw=request.raw, mask=self._mask
        )
        message = self._message(request)
        try:
            if request.stream:
                stream = http.stream(message, signal)
                return await self._streamed(request, stream, decoder, on_delta)
            answer = await http.send_cancellable(message, signal)
            if not 200 <= answer.status < 300:
                return self._rejected(answer.status, answer.body, answer.headers)
            return self._decoded(request, answer.header("content-type") or "", answer.body)
        except (HttpError, SecretUnavailable) as error:
            if decoder.whole and not isinstance(error, RequestCancelled):
                # The answer was there; only the stream's end was not.
                return ModelReply(decoder.finish(), StepOutcome.OK)
            response = decoder.partial()
            if unsent(error):
                response = ModelResponse()
            elif unreached(error):
                response = ModelResponse(usage=Usage(requests=1))
            if isinstance(error, RequestCancelled):
                return ModelReply(response, StepOutcome.INTERRUPTED)
            return ModelReply(response, StepOutcome.ERROR, transported(error))

    def _message(self, request: ModelRequest) -> Request:
        from core.http import Request

        accept = "text/event-stream" if request.stream else "application/json"
        return Request(
            "POST",
            self._url,
            (("Content-Type", "application/json"), ("Accept", accept), *self._headers),
            encode(request, limit_field=self._limit_field),
        )

    async def _streamed(
        self,
        request: ModelRequest,
        opened: AbstractAsyncContextManager[ResponseStream],
        decoder: StreamDecoder,
        on_delta: OnDelta,
    ) -> ModelReply:
        async with opened as stream:
            if not 200 <= stream.status < 300:
                body = await _read(stream, MAX_ERROR_BYTES)
                return self._rejected(stream.status, body, stream.headers)
            content_type = stream.header("content-type") or ""
            if not is_stream(content_type):
                # A server that does not stream answers all at once.
                body = await _read(stream, MAX_BODY_BYTES)
                reply = self._decoded(request, content_type, body)
                _tell(reply.response, on_delta)
                return reply
            rest = 0
            async for chunk in stream:
                if decoder.failure is None:
                    for kind, text in decoder.feed(chunk):
                        on_delta(kind, text)
                    continue
                # Reading on to a near end keeps the call from counting as one that was stopped.
                rest += len(chunk)
                if rest > MAX_REST_BYTES:
                    break
        try:
            return ModelReply(decoder.finish(), StepOutcome.OK)
        except ProviderError as error:
            return ModelReply(decoder.partial(), StepOutcome.ERROR, error)

    def _rejected(
        self, status: int, body: bytes, headers: tuple[tuple[str, str], ...]
    ) -> ModelReply:
        """Return the reply for an answer that is an error: no model ran, no token was spent."""
        error = answered(status, body, headers, now_us=self._clock.now_us(), mask=self._mask)
        response = ModelResponse(usage=Usage(requests=1))
        return ModelReply(response, StepOutcome.ERROR, error)

    def _decoded(self, request: ModelRequest, content_type: str, body: bytes) -> ModelReply:
        estimate = estimated_input(request)
        try:
            response = decode_answer(
                content_type, body, input_estimate=estimate, raw=request.raw, mask=self._mask
            )
        except ProviderError as error:
            # A model may have run, and its server counts what it read.
            usage = Usage(requests=1, input_tokens=estimate, estimated=True)
            return ModelReply(ModelResponse(usage=usage), StepOutcome.ERROR, error)
        return ModelReply(response, StepOutcome.OK)


async def _read(stream: AsyncIterable[bytes], bound: int) -> bytes:
    """Return the body of ``stream``, or its beginning if it is larger than ``bound``."""
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) > bound:
            break
    return bytes(body)


def _tell(response: ModelResponse, on_delta: OnDelta) -> None:
    if response.thinking:
        on_delta("thinking", response.thinking)
    if response.text:
        on_delta("text", response.text)
