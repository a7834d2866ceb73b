"""Server-sent events, parsed as bytes arrive.

Source: WHATWG HTML Living Standard, 9.2.6 "Interpreting an event stream".
"""

from __future__ import annotations

from typing import NamedTuple

from core.errors import ProviderError
from core.model.words import FailureClass

MAX_EVENT_BYTES = 32 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_LF = 0x0A


class SseEvent(NamedTuple):
    """One dispatched event.

    Attributes:
        event: its type, ``message`` where the stream names none.
        data: its data lines, joined by newlines.
        id: the last event id seen so far, or None.
    """

    event: str
    data: str
    id: str | None


class SseParser:
    """Turns the bytes of an event stream into events, however they are split.

    Bytes that are no UTF-8 become U+FFFD, as the standard asks. What follows the last blank
    line is no event.

    Args:
        max_event_bytes: an event larger than this is refused, so that a server cannot make the
            parser hold more.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._tail: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._at_start = True
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events that they complete.

        Raises:
            ProviderError: class ``malformed``: an event is larger than the bound.
        """
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == _LF:
                chunk = chunk[1:]
        if not chunk:
            return []
        if b"\n" not in chunk and b"\r" not in chunk:
            self._keep(chunk)
            return []
        if self._tail:
            self._size -= sum(map(len, self._tail))
            chunk = b"".join((*self._tail, chunk))
            self._tail.clear()
        lines = chunk.splitlines()
        self._after_cr = chunk.endswith(b"\r")
        rest = b"" if chunk.endswith((b"\n", b"\r")) else lines.pop()
        events: list[SseEvent] = []
        for line in lines:
            self._line(line, events)
        if rest:
            self._keep(rest)
        return events

    def _keep(self, piece: bytes) -> None:
        self._tail.append(piece)
        self._grow(len(piece))

    def _grow(self, count: int) -> None:
        self._size += count
        if self._size > self._max:
            raise ProviderError(
                "The stream holds an event larger than the bound",
                failure_class=FailureClass.MALFORMED,
            )

    def _line(self, line: bytes, events: list[SseEvent]) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(SseEvent(self._event or "message", "\n".join(self._data), self._id))
                self._data.clear()
            self._event = ""
            self._size = 0
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._grow(len(value) + 1)
            self._data.append(value.decode("utf-8", "replace"))
        elif name == b"event":
            self._grow(len(value))
            self._event = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace") or None
