"""One transfer of libcurl: its callbacks, its abort."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pycurl

from core.config import parse_address
from core.http._addresses import AddressPolicy
from core.http._curl_faults import fault_of
from core.http._seam import Fault, Pin, Sink

if TYPE_CHECKING:
    from core.http._curl_driver import Driver

_BLANK = (b"\r\n", b"\n")
_MAX_INTERIM = 64
_LENGTH_DIGITS = 18
_PIECE = 64 * 1024
_CALLBACK_FAILED = -1  # as the number of bytes taken: libcurl ends the transfer


class CurlTransfer:
    """A ``Transfer``.

    No callback lets an exception out: pycurl would print it, with its text, on
    stderr. What goes wrong is kept and becomes the transfer's fault.
    """

    __slots__ = (
        "_asked", "_broken", "_driver", "_halted", "_head_seen", "_interim", "_lines",
        "_pause_wanted", "_pin", "_policy", "_sink", "_waiting", "_waiting_size", "done",
        "easy", "label",
    )  # fmt: skip

    def __init__(
        self, driver: Driver, easy: Any, sink: Sink, *, pin: Pin, policy: AddressPolicy, label: str
    ) -> None:
        self._driver = driver
        self._sink = sink
        self._pin = pin
        self._policy = policy
        self._broken: Fault | None = None
        self._asked = False
        self._interim = 0
        self._lines: list[bytes] = []
        self._head_seen = False
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._pause_wanted = False
        self._halted = False
        self.done = False
        self.easy = easy
        self.label = label
        easy.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        easy.setopt(pycurl.PREREQFUNCTION, self._before_request)
        easy.setopt(pycurl.HEADERFUNCTION, self._on_header)
        easy.setopt(pycurl.WRITEFUNCTION, self._on_body)

    def abort(self) -> None:
        """Stop: see ``Transfer.abort``."""
        if not self.done:
            self.done = True
            self._waiting.clear()
            self._driver.discard(self)

    def resume(self) -> None:
        """Go on after a pause."""
        self._pause_wanted = False
        if self._halted and not self.done:
            self._halted = False
            self._driver.resume(self)

    def finish(self, number: int) -> None:
        """Tell the sink that libcurl is done, with its error ``number`` or 0."""
        fault = self._broken
        if fault is None and number:
            fault = fault_of(number)
        elif fault is None and not self._head_seen:
            fault = Fault.LOST  # libcurl takes a head that was cut for a whole answer
        self._sink.end(fault, number)

    def fail(self, fault: Fault) -> None:
        """Tell the sink that the whole driver is gone."""
        if not self.done:
            self.done = True
            self._sink.end(fault, 0)

    def _open_socket(self, _purpose: int, address: Any) -> int:
        try:
            if not self._may_connect(address[3][0]):
                self._broken = Fault.PIN
                return int(pycurl.SOCKET_BAD)
            family, kind, protocol = address[0], address[1], address[2]
            made = socket.socket(family, kind, protocol)
            made.setblocking(False)
            # The number alone: pycurl would duplicate a socket object and keep ours open.
            descriptor = made.detach()
            self._driver.opened(descriptor)
            return descriptor
        except OSError:
            return int(pycurl.SOCKET_BAD)
        except Exception:
            self._broken = Fault.OTHER
            return int(pycurl.SOCKET_BAD)

    def _before_request(self, peer: str, *_rest: object) -> int:
        # Asked for a pooled connection too, of which _open_socket never hears.
        try:
            if not self._may_connect(peer):
                self._broken = Fault.PIN
                return int(pycurl.PREREQFUNC_ABORT)
            if self._asked:
                # A kept connection that broke off without an answer: libcurl would send the
                # request again by itself. What was sent may have had its effect already, and
                # one call is one request on the wire.
                self._broken = Fault.LOST
                return int(pycurl.PREREQFUNC_ABORT)
            self._asked = True
            if not self.done:
                self._sink.connected()
            return int(pycurl.PREREQFUNC_OK)
        except Exception:
            self._broken = Fault.OTHER
            return int(pycurl.PREREQFUNC_ABORT)

    def _may_connect(self, address: str) -> bool:
        # Two independent questions: is it in the pin, and does the table allow it.
        if address not in self._pin.addresses:
            address = str(parse_address(address))
        in_pin = address in self._pin.addresses
        return in_pin and self._policy.allows(address, literal=self._pin.literal)

    def _on_header(self, line: bytes) -> int | None:
        if len(line) > 2 or line not in _BLANK:
            self._lines.append(line)
            return None
        lines, self._lines = self._lines, []
        if self.done or self._head_seen:
            return None  # a trailer
        try:
            return self._on_head(lines)
        except Exception:
            return self._break(Fault.OTHER)

    def _on_head(self, lines: list[bytes]) -> int | None:
        status = _parse_status(lines[0])
        if status < 200:
            self._interim += 1
            # We ask for no upgrade, so what would follow a 101 is not HTTP.
            wrong = status < 100 or status == 101 or self._interim > _MAX_INTERIM
            return self._break(Fault.PROTOCOL) if wrong else None
        headers = tuple(_parse_field(line) for line in lines[1:])
        if any(_is_absurd(name, value) for name, value in headers):
            return self._break(Fault.PROTOCOL)
        self._head_seen = True
        self._sink.head(status, headers)
        return None

    def _break(self, fault: Fault) -> int:
        self._broken = fault
        return _CALLBACK_FAILED

    def _on_body(self, chunk: bytes) -> int | None:
        waiting = self._waiting
        if waiting and self._waiting_size + len(chunk) <= _PIECE:
            waiting.append(chunk)
            self._waiting_size += len(chunk)
            return None
        if waiting:
            self.hand_on()
        if self.done or self._broken is not None:
            return _CALLBACK_FAILED
        if not self._head_seen:
            return self._break(Fault.PROTOCOL)
        if self._pause_wanted:
            self._halted = True
            return int(pycurl.WRITEFUNC_PAUSE)  # libcurl keeps the chunk and brings it again
        waiting.append(chunk)
        self._waiting_size = len(chunk)
        self._driver.has_body(self)
        return None

    def hand_on(self) -> bool:
        """Give the sink what has come of the body; return whether it took that.

        A model sends a small chunk for each word, and the sink costs more than a chunk: so
        what one action of the driver brings goes on as one piece.
        """
        waiting = self._waiting
        piece = waiting[0] if len(waiting) == 1 else b"".join(waiting)
        waiting.clear()
        if piece and not self.done:
            try:
                self._pause_wanted = not self._sink.data(piece)
            except Exception:
                self._broken = Fault.OTHER
        return self._broken is None


def _parse_status(line: bytes) -> int:
    """Return the status of a head's first line, 0 if there is none."""
    words = line.split(None, 2)
    status = words[1] if len(words) > 1 else b""
    return int(status) if len(status) == 3 and status.isdigit() else 0


def _parse_field(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("latin-1").partition(":")
    return name, value.strip()


def _is_absurd(name: str, value: str) -> bool:
    # libcurl reads a length beyond its numbers as none at all: the body would end with the
    # connection, and a cut one would pass for whole.
    return not name or (len(value) > _LENGTH_DIGITS and name.lower() == "content-length")
