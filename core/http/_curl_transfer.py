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
_CALLBACK_FAILED = -1  # as the number of bytes taken: libcurl ends the transfer


class CurlTransfer:
    """A ``Transfer``.

    No callback lets an exception out: pycurl would print it, with its text, on
    stderr. What goes wrong is kept and becomes the transfer's fault.
    """

    __slots__ = (
        "_broken", "_driver", "_halted", "_head_seen", "_lines", "_pause_wanted", "_pin",
        "_policy", "_sink", "done", "easy", "label",
    )  # fmt: skip

    def __init__(
        self, driver: Driver, easy: Any, sink: Sink, *, pin: Pin, policy: AddressPolicy, label: str
    ) -> None:
        self._driver = driver
        self._sink = sink
        self._pin = pin
        self._policy = policy
        self._broken: Fault | None = None
        self._lines: list[bytes] = []
        self._head_seen = False
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
            self._driver.discard(self)

    def resume(self) -> None:
        """Go on after a pause."""
        self._pause_wanted = False
        if self._halted and not self.done:
            self._halted = False
            self._driver.resume(self)

    def finish(self, number: int) -> None:
        """Tell the sink that libcurl is done, with its error ``number`` or 0."""
        fault = None if number == 0 else fault_of(number)
        self._sink.end(self._broken or fault, number)

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
        if line not in _BLANK:
            self._lines.append(line)
            return None
        lines, self._lines = self._lines, []
        if self.done or self._head_seen:
            return None  # a trailer
        try:
            status, headers = _parse_head(lines)
            if status >= 200:
                self._head_seen = True
                self._sink.head(status, headers)
        except Exception:
            self._broken = Fault.OTHER
            return _CALLBACK_FAILED
        return None

    def _on_body(self, chunk: bytes) -> int | None:
        if self.done:
            return _CALLBACK_FAILED
        if self._pause_wanted:
            self._halted = True
            return int(pycurl.WRITEFUNC_PAUSE)  # libcurl keeps the chunk and brings it again
        try:
            self._pause_wanted = not self._sink.data(chunk)
        except Exception:
            self._broken = Fault.OTHER
            return _CALLBACK_FAILED
        return None


def _parse_head(lines: list[bytes]) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return status and headers; a status of 0 stands for a head that is none."""
    first, *rest = b"".join(lines).decode("latin-1").replace("\r\n", "\n").split("\n")
    words = first.split(None, 2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    fields = (line.partition(":") for line in rest if line)
    return status, tuple((name, value.strip()) for name, _, value in fields)
