"""An answer whose body is read while it arrives."""

from __future__ import annotations

from core.http._call import Call
from core.http._messages import find_header


class ResponseStream:
    """The head of an answer, and its body as an async iterator of bytes.

    What has arrived is delivered before an error is raised. Leaving the iteration
    early leaves the rest unread; the end of the ``async with`` block closes it.

    Attributes:
        status: the HTTP status.
        headers: name and value pairs as they came.
        call_id: the key of the call's audit row.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self.status = call.status
        self.headers = call.headers
        self.call_id = call.call_id

    def header(self, name: str) -> str | None:
        """Return the first value of the header ``name``, without regard to case."""
        return find_header(self.headers, name)

    def __aiter__(self) -> ResponseStream:
        return self

    async def __anext__(self) -> bytes:
        """Return the next bytes, never empty.

        Raises:
            RequestCancelled: the signal was raised.
            RequestTimeout: a bound ran out.
            TransportFailed: the body was cut.
        """
        chunk = await self._call.read()
        if not chunk:
            raise StopAsyncIteration
        return chunk

    def __repr__(self) -> str:
        return f"ResponseStream({self.status})"
