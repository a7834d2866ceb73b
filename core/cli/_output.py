"""The only way a command writes: data to stdout, narration to stderr.

A thread of its own does the writing, so that a reader who is slow or gone never blocks
the loop. When a stream breaks, the command goes on without it.
"""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import queue
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TextIO

from core.text import display

_BACKLOG = 256
_ABANDONED_PATIENCE_S = 0.5
_GONE = frozenset({errno.EPIPE, errno.EIO, errno.EBADF, errno.ECONNRESET})

_Name = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True)
class _Mark:
    """Reached when everything before it has been written."""

    loop: asyncio.AbstractEventLoop
    reached: asyncio.Future[None]

    def reach(self) -> None:
        with suppress(RuntimeError):  # The loop is gone: nobody waits.
            self.loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        if not self.reached.done():
            self.reached.set_result(None)


class Output:
    """What a command says. Foreign text leaves harmless.

    Args:
        as_json: whether records are what the reader wants.
        mask: takes known secrets out of what goes to stderr.
    """

    def __init__(self, *, as_json: bool, mask: Callable[[str], str] = str) -> None:
        self.as_json = as_json
        self.mask = mask
        self._queue: queue.SimpleQueue[tuple[_Name, str] | _Mark | None] = queue.SimpleQueue()
        self._broken: dict[_Name, OSError] = {}
        self._mid_line = False
        self._abandoned = False
        # On a terminal both streams share one cursor.
        self._shared = _is_terminal(sys.stdout) and _is_terminal(sys.stderr)
        self._streams: dict[_Name, TextIO | None] = {"stdout": sys.stdout, "stderr": sys.stderr}
        self._thread = threading.Thread(target=self._work, name="output", daemon=True)
        self._thread.start()

    @property
    def detached(self) -> bool:
        """Return whether nobody reads stdout any more."""
        return "stdout" in self._broken

    @property
    def on_terminal(self) -> bool:
        """Return whether stdout is a terminal."""
        return _is_terminal(self._streams["stdout"])

    @property
    def encoding(self) -> str:
        """Return stdout's encoding."""
        return _encoding(self._streams["stdout"])

    @property
    def failure(self) -> OSError | None:
        """Return why stdout could not be written; None also if its reader just left."""
        error = self._broken.get("stdout")
        return None if error is None or error.errno in _GONE else error

    def piece(self, text: str) -> None:
        """Write a piece of text to stdout, as it is but for what could do harm."""
        if text:
            self._mid_line = not text.endswith("\n")
            self._queue.put(("stdout", display(text)))

    def end_line(self) -> None:
        """End stdout's line if it has begun."""
        if self._mid_line:
            self.piece("\n")

    def line(self, text: str) -> None:
        """Write one line to stdout."""
        self.piece(f"{text}\n")

    def record(self, value: dict[str, Any]) -> None:
        """Write one JSON object as a line of ASCII to stdout."""
        self._queue.put(("stdout", to_line(value)))

    def note(self, text: str) -> None:
        """Write a line of narration to stderr."""
        start = ""
        if self._mid_line and self._shared:
            start, self._mid_line = "\n", False
        self._queue.put(("stderr", f"{start}{display(self.mask(text))}\n"))

    def error(self, value: dict[str, Any]) -> None:
        """Write one JSON object as a line of ASCII to stderr."""
        masked = {
            name: self.mask(item) if isinstance(item, str) else item for name, item in value.items()
        }
        self._queue.put(("stderr", to_line(masked)))

    async def room(self) -> None:
        """Wait while more is waiting to be written than a reader may lag behind."""
        if self._queue.qsize() >= _BACKLOG:
            loop = asyncio.get_running_loop()
            mark = _Mark(loop, loop.create_future())
            self._queue.put(mark)
            await mark.reached

    def abandon(self) -> None:
        """Do not wait for long for a reader who does not read."""
        self._abandoned = True

    def close(self) -> None:
        """Wait until everything has been written, or its reader has left."""
        self._queue.put(None)
        # The last words are still to be read by whoever does read.
        self._thread.join(_ABANDONED_PATIENCE_S if self._abandoned else None)

    def _work(self) -> None:
        while True:
            item = self._queue.get()
            if item is None:
                return
            if isinstance(item, _Mark):
                item.reach()
            else:
                self._write(*item)

    def _write(self, name: _Name, text: str) -> None:
        if name in self._broken:
            return
        stream = self._streams[name]
        try:
            if stream is None:
                raise OSError(errno.EBADF, "closed before the start")
            _write_through(stream, text)
        except (OSError, ValueError) as error:
            # ValueError: somebody closed the stream object itself.
            broken = error if isinstance(error, OSError) else OSError(errno.EBADF, "closed")
            self._broken[name] = broken
            if self.failure is not None:
                reason = os.strerror(broken.errno or 0)
                self._write("stderr", f"Output could not be written: {reason}\n")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def _encoding(stream: TextIO | None) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def to_line(value: dict[str, Any]) -> str:
    """Return a JSON object as one line of printable ASCII."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f") + "\n"


def _write_through(stream: TextIO, text: str) -> None:
    """Write past the stream's own buffer.

    What a buffer holds after an error is written again at exit, with noise; and a thread
    that hangs inside of one makes the interpreter abort there.
    """
    data = text.encode(_encoding(stream), "backslashreplace")
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:
        stream.write(data.decode(_encoding(stream)))
        return
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
