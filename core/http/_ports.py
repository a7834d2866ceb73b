"""What the client asks of others, and what others may ask of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from core.http._messages import Request, Response
    from core.model import AuditEntry
    from core.vault import Secret


class CancellationSignal(Protocol):
    """A flag that says stop; ``CancelSignal`` is ours."""

    def is_set(self) -> bool:
        """Return whether the flag is up."""

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` once when the flag goes up; return the way to end this."""


class AuditSink(Protocol):
    """Where rows go."""

    async def begin(self, entry: AuditEntry) -> None:
        """Write that a call is about to be handed over; durable on return.

        Should this process die before it appends the call's row, the next one to open
        the log writes ``http_call_interrupted`` for it.

        Raises:
            AuditUnavailable: it could not be written: nothing may be sent.
        """

    async def append(self, entry: AuditEntry) -> None:
        """Write one row; durable on return.

        A row submitted before a cancellation of the calling task still lands.

        Raises:
            AuditUnavailable: the row could not be written.
        """


class SecretReader(Protocol):
    """The vault, as the client sees it."""

    async def read(self, name: str, *, host: str, port: int) -> Secret:
        """Return the secret called ``name``, to be sent to ``host`` and ``port``.

        Raises:
            SecretUnavailable: missing, expired, locked or not for this host.
        """

    async def rotate(self, name: str, value: str, *, actor: str) -> object:
        """Replace the value of the secret called ``name``.

        Raises:
            StepbrakeError: it was not replaced.
        """


class Resolver(Protocol):
    """Turns a name into addresses, once, on threads of its own."""

    async def resolve(self, host: str) -> tuple[str, ...]:
        """Return the addresses of ``host`` in the order to try them.

        Cancelling the caller ends the wait at once, whatever the lookup does.

        Raises:
            OSError: the name has no address.
        """


@runtime_checkable
class HttpClient(Protocol):
    """Something that sends."""

    async def send(self, request: Request) -> Response:
        """Send ``request`` and return the whole answer."""


@runtime_checkable
class CancellableHttpClient(HttpClient, Protocol):
    """Something that sends and can be stopped meanwhile."""

    @property
    def supports_cancellation(self) -> bool:
        """Whether a signal ends a call that is in flight."""

    async def send_cancellable(self, request: Request, signal: CancellationSignal) -> Response:
        """Send ``request``; a raised ``signal`` ends it."""
