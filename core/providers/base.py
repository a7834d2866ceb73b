"""What a model provider is to the rest of the core."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from core.model.messages import ModelRequest, ModelResponse
from core.model.words import StepOutcome

if TYPE_CHECKING:
    from core.errors import ProviderError
    from core.http import CancelSignal, Request, Response, ResponseStream

DeltaKind = Literal["text", "thinking"]
OnDelta = Callable[[DeltaKind, str], None]


class StreamingClient(Protocol):
    """What a provider needs of an HTTP client; ``core.http.VaultHttpClient`` has it."""

    async def send_cancellable(self, request: Request, signal: CancelSignal) -> Response:
        """Send ``request`` and return the whole response."""

    def stream(
        self, request: Request, signal: CancelSignal | None = None
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Send ``request`` and give its response as it arrives."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """How one model call ended: a value for everything that can happen to it.

    Attributes:
        response: what the model said, whole if ``outcome`` is ``ok``, else what came of it.
        outcome: ``ok``, ``error``, or ``interrupted`` if somebody asked for the call to stop.
        error: why it failed, for outcome ``error`` alone.
    """

    response: ModelResponse
    outcome: StepOutcome
    error: ProviderError | None = None


class Provider(Protocol):
    """Speaks one wire format with one server.

    Attributes:
        name: the wire format, e.g. ``openai-chat``.
    """

    name: str

    async def respond(
        self,
        request: ModelRequest,
        *,
        http: StreamingClient,
        signal: CancelSignal,
        on_delta: OnDelta,
    ) -> ModelReply:
        """Make one call, one attempt.

        Args:
            request: what to ask.
            http: the client that sends it.
            signal: ends the call at once when set.
            on_delta: told of each piece of a streamed answer, in order, on the loop.

        Returns:
            The reply. Failures of the model, its server and the way there are values of it.

        Raises:
            core.errors.AuditUnavailable: the call cannot be accounted for. A fault of the store,
                not of the model.
        """
