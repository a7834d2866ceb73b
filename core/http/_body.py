"""The part of an answer's body that has arrived and was not read."""

from __future__ import annotations

_HIGH = 256 * 1024
_LOW = 64 * 1024


class BodyBuffer:
    """Pieces in order, with the two marks at which a stream pauses and goes on.

    Args:
        limit: bytes in all that may arrive, or None.
        pauses: whether the transport is asked to wait for a slow reader.
    """

    __slots__ = ("_chunks", "_limit", "_pauses", "_received", "_size", "paused")

    def __init__(self, *, limit: int | None, pauses: bool) -> None:
        self._limit = limit
        self._pauses = pauses
        self._chunks: list[bytes] = []
        self._size = 0
        self._received = 0
        self.paused = False

    def push(self, chunk: bytes) -> None:
        """Keep ``chunk``; beyond the limit it is dropped."""
        self._received += len(chunk)
        if self.overflowed:
            return
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._pauses and self._size >= _HIGH:
            self.paused = True

    def pop(self) -> bytes:
        """Return the oldest piece, or all small ones as one; empty if there is none."""
        if not self._chunks:
            return b""
        if self._size <= _LOW:
            taken = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
            self._chunks.clear()
        else:
            taken = self._chunks.pop(0)
        self._size -= len(taken)
        return taken

    def drain(self) -> bytes:
        """Return everything that is here."""
        taken = b"".join(self._chunks)
        self._chunks.clear()
        self._size = 0
        return taken

    def may_resume(self) -> bool:
        """Return True once after a pause, when little enough is left."""
        if not self.paused or self._size > _LOW:
            return False
        self.paused = False
        return True

    @property
    def overflowed(self) -> bool:
        """Whether more arrived than the limit allows."""
        return self._limit is not None and self._received > self._limit
