"""What a caller sends and gets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as the caller means it.

    Attributes:
        method: an HTTP method, e.g. ``GET``.
        url: an absolute URL; only ASCII, percent-encoded where needed.
        headers: name and value pairs; order and repeats are kept.
        body: the bytes to send.

    Raises:
        TypeError: the body is not bytes.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def __post_init__(self) -> None:
        if not isinstance(self.body, bytes):
            raise TypeError("the body of a request is bytes")
        object.__setattr__(self, "headers", tuple(self.headers))

    def __repr__(self) -> str:
        """Show method, host and path: a query or a header may hold a secret."""
        from core.errors import RequestRefused
        from core.http._url import split_url

        try:
            url = split_url(self.url)
        except RequestRefused:
            return "Request(<malformed>)"
        return f"Request({self.method!r}, {url.host + url.path!r})"


@dataclass(frozen=True, slots=True)
class Response:
    """One complete answer, of any status.

    Attributes:
        status: the HTTP status.
        headers: name and value pairs as they came.
        body: all bytes of the body, not decoded.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the first value of the header ``name``, without regard to case."""
        return find_header(self.headers, name)

    def __repr__(self) -> str:
        """Show status and size: a body may hold anything."""
        return f"Response({self.status}, {len(self.body)} bytes)"


def find_header(headers: tuple[tuple[str, str], ...], name: str) -> str | None:
    """Return the first value of ``name`` in ``headers``, or None."""
    wanted = name.lower()
    return next((value for key, value in headers if key.lower() == wanted), None)
