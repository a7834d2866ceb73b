"""The seam between the client and whatever moves the bytes.

It is push style: a transport tells a sink what happens, and ``abort`` is
synchronous. A scripted transport can therefore drive every path without a
socket, a sleep or a turn of the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from core.http._url import Url


class Fault(Enum):
    """Why a transfer ended without being whole."""

    CONNECT = "connect"
    TLS = "tls"
    CERTIFICATE = "certificate"
    LOST = "lost"
    PROTOCOL = "protocol"
    PIN = "pin"
    TIMEOUT = "timeout"
    CLOSED = "closed by us"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class WireRequest:
    """What goes out, complete; headers and body are kept out of its ``repr``."""

    method: str
    url: Url
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Pin:
    """The only addresses a call may connect to.

    Attributes:
        label: a name for the connection pool; other addresses, another
            credential or another policy give another label.
        addresses: canonical address literals, in the order to try them.
        literal: True if an allow-list entry names the host literally.
    """

    label: str
    addresses: tuple[str, ...]
    literal: bool


@dataclass(frozen=True, slots=True)
class Belt:
    """Bounds for a transport's own timers, in milliseconds; 0 means none.

    They lie above the client's own bounds, which therefore always speak first.
    """

    connect_ms: int
    total_ms: int


class Sink(Protocol):
    """Hears of one transfer, on the loop's thread, never before ``start`` returned."""

    def connected(self) -> None:
        """The connection is there and the request goes out next."""

    def head(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        """The final head is there."""

    def data(self, chunk: bytes) -> bool:
        """Take a piece of the body; False asks for a pause (the piece is taken)."""

    def end(self, fault: Fault | None, number: int) -> None:
        """The transfer is over: whole (None) or not.

        Called exactly once, and never after ``Transfer.abort`` returned.
        ``number`` is the transport's own error number, or 0.
        """


class Transfer(Protocol):
    """One transfer under way."""

    def abort(self) -> None:
        """Stop: on return the connection is closed and the sink hears nothing more.

        Harmless when repeated or after the end.
        """

    def resume(self) -> None:
        """Go on after a pause; ``Sink.data`` may be called before this returns."""


class Transport(Protocol):
    """Moves bytes."""

    @property
    def supports_abort(self) -> bool:
        """Whether ``abort`` really stops a transfer."""

    def start(self, request: WireRequest, pin: Pin, belt: Belt, sink: Sink) -> Transfer:
        """Hand ``request`` over, synchronously.

        Raises:
            TransportFailed: nothing was sent.
        """
