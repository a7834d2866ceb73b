"""What a library of the httpx family asks for, as a request of ours."""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, Mapping
from dataclasses import replace
from typing import Any

from core.errors import RequestRefused
from core.http import Bounds, Request

MAX_REQUEST_BYTES = 64 * 1024 * 1024
# The client writes these itself.
_ITS_OWN = frozenset({"accept-encoding", "connection", "content-length", "transfer-encoding"})
# Where SDKs put the key that they insist on; a placeholder beside the credential misleads servers.
_SDK_KEYS = frozenset({"api-key", "authorization", "x-api-key", "x-goog-api-key"})
_TIMEOUTS = frozenset({"connect", "pool", "read", "write"})


async def as_request(asked: Any, field: str | None) -> Request:
    """Return the request to send, its body read to the end.

    Args:
        asked: an ``httpx.Request`` or ``httpx2.Request``.
        field: where the client's credential travels; the caller's own keys are then dropped.

    Raises:
        RequestRefused: the body is larger than ``MAX_REQUEST_BYTES``.
        Exception: what the body's stream raised, as it is.
    """
    dropped = set(_ITS_OWN)
    if field is not None:
        dropped |= _SDK_KEYS | {field.lower()}
    headers = [(name.decode("latin-1"), value) for name, value in asked.headers.raw]
    kept = tuple(
        (name, value.decode("latin-1"))
        for name, value in headers
        if name.lower() not in dropped and not _is_its_host(name, value, asked)
    )
    return Request(asked.method, str(asked.url), kept, await _body(asked.stream))


def lowered(bounds: Bounds, extensions: Mapping[str, Any]) -> Bounds:
    """Return ``bounds``, where the request's ``timeout`` extension is lower: that.

    ``connect`` and ``read`` lower the bounds of the same meaning, ``write`` and ``read``
    together the wait for the answer's head, of which the upload is a part. ``pool`` has
    no counterpart.

    Raises:
        RequestRefused: there is another extension, or a timeout that is none.
    """
    others = sorted(str(name) for name in extensions if name != "timeout")
    if others:
        raise RequestRefused(
            "The request has an extension that this transport does not take",
            code="extension_refused",
            where=others[0],
            hint="Only timeout is taken, and only where it is lower than the client's bounds.",
        )
    given = extensions.get("timeout", {})
    if not isinstance(given, Mapping) or not _TIMEOUTS.issuperset(given):
        raise _no_timeout()
    connect, read, write = (_seconds(given.get(name)) for name in ("connect", "read", "write"))
    head = None if read is None or write is None else read + write
    return replace(
        bounds,
        connect=_lower(bounds.connect, connect),
        first_byte=_lower(bounds.first_byte, head),
        silence=_lower(bounds.silence, read),
    )


def _is_its_host(name: str, value: bytes, asked: Any) -> bool:
    # One that names another host stays, and the client refuses it.
    return name.lower() == "host" and value.lower() == asked.url.netloc.lower()


async def _body(stream: AsyncIterable[bytes]) -> bytes:
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) > MAX_REQUEST_BYTES:
            raise RequestRefused(
                "The request's body is larger than this transport takes",
                code="request_too_large",
                hint=f"The limit is {MAX_REQUEST_BYTES // (1024 * 1024)} MiB.",
            )
    return bytes(body)


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or math.isnan(value) or value < 0:
        raise _no_timeout()
    return None if math.isinf(value) else float(value)


def _lower(bound: float | None, other: float | None) -> float | None:
    given = [one for one in (bound, other) if one is not None]
    return min(given, default=None)


def _no_timeout() -> RequestRefused:
    return RequestRefused(
        "The request's timeout is malformed",
        code="extension_refused",
        where="timeout",
        hint="Give seconds, or None, for connect, read, write and pool.",
    )
