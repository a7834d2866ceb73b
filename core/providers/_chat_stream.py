"""A streamed answer in the OpenAI chat format, read as its bytes arrive."""

from __future__ import annotations

from dataclasses import replace

from core.errors import ProviderError
from core.model.messages import ModelResponse
from core.model.words import FailureClass
from core.providers._chat_fold import ChatFold, Delta
from core.providers._failures import Mask, announced
from core.providers._json import parse_object
from core.providers.sse import SseParser

MAX_STREAM_BYTES = 128 * 1024 * 1024


class StreamDecoder:
    """Turns the bytes of a streamed answer into deltas and, at its end, a response.

    Args:
        input_estimate: tokens of the request, for a server that counts none.
        raw: keep the body's text for the response.
        mask: takes known secrets out of the server's words that are shown cut or altered.

    Attributes:
        failure: what the stream reported or broke; nothing after it is read.
    """

    def __init__(self, *, input_estimate: int = 0, raw: bool = False, mask: Mask = str) -> None:
        self._mask = mask
        self._parser = SseParser()
        self._fold = ChatFold("delta", input_estimate=input_estimate, mask=mask)
        self._raw: list[bytes] | None = [] if raw else None
        self._size = 0
        self._done = False
        self._counted_at_end = False
        self.failure: ProviderError | None = None

    def feed(self, chunk: bytes) -> list[Delta]:
        """Take the next bytes and return the text they brought, in order.

        Never raises: what was good before a bad event is returned, and ``failure`` is set.
        """
        if self._raw is not None:
            self._raw.append(chunk)
        if self._done or self.failure is not None:
            return []
        deltas: list[Delta] = []
        try:
            self._size += len(chunk)
            if self._size > MAX_STREAM_BYTES:
                raise ProviderError(
                    "The stream is larger than the bound", failure_class=FailureClass.MALFORMED
                )
            for event in self._parser.feed(chunk):
                data = event.data.strip()
                if event.event == "error":
                    raise announced(data, self._mask)
                if data == "[DONE]":
                    self._done = True
                    self._counted_at_end = self._fold.usage is not None
                    break
                if data:
                    found = parse_object(data, what="A chunk of the stream")
                    # One by one: text that came before an error is part of the answer.
                    for delta in self._fold.add(found):
                        deltas.append(delta)
        except ProviderError as error:
            self.failure = error
        return deltas

    @property
    def whole(self) -> bool:
        """Whether the answer is complete: a finish reason, or counts and then ``[DONE]``.

        ``[DONE]`` alone proves nothing: servers send it after a stream that they broke off.
        """
        if self.failure is not None:
            return False
        return bool(self._fold.finish_reason) or self._counted_at_end

    def finish(self) -> ModelResponse:
        """Return the whole answer, once the stream has ended.

        Raises:
            ProviderError: ``failure``, or class ``incomplete_stream``.
        """
        if self.failure is not None:
            raise self.failure
        if not self.whole:
            raise ProviderError(
                "The stream ended before the answer was complete",
                failure_class=FailureClass.INCOMPLETE_STREAM,
            )
        return self._response(whole=True)

    def partial(self) -> ModelResponse:
        """Return what came so far: text, thinking, complete tool calls, usage."""
        return self._response(whole=self.whole)

    def _response(self, *, whole: bool) -> ModelResponse:
        response = self._fold.response(whole=whole)
        if self._raw is None:
            return response
        return replace(response, raw=b"".join(self._raw).decode("utf-8", "replace"))
