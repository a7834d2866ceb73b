"""The outbound HTTP client: gated, pinned, abortable, one audit row per call.

Names load on first use, so that looking at a URL never loads a transport.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy

if TYPE_CHECKING:
    from core.http._addresses import AddressPolicy
    from core.http._bounds import Bounds
    from core.http._client import VaultHttpClient
    from core.http._context import CallContext, CallRecord
    from core.http._messages import Request, Response
    from core.http._outcomes import Ending
    from core.http._ports import (
        AuditSink,
        CancellableHttpClient,
        CancellationSignal,
        HttpClient,
        Resolver,
        SecretReader,
    )
    from core.http._seam import Belt, Fault, Pin, Sink, Transfer, Transport, WireRequest
    from core.http._signal import CancelSignal
    from core.http._stream import ResponseStream
    from core.http._url import Url, parse_url
    from core.http.resolver import ThreadResolver
    from core.http.transport import CurlTransport
    from core.vault import Credential

_HOMES = {
    "AddressPolicy": "core.http._addresses",
    "AuditSink": "core.http._ports",
    "Belt": "core.http._seam",
    "Bounds": "core.http._bounds",
    "CallContext": "core.http._context",
    "CallRecord": "core.http._context",
    "CancelSignal": "core.http._signal",
    "CancellableHttpClient": "core.http._ports",
    "CancellationSignal": "core.http._ports",
    "Credential": "core.vault",
    "CurlTransport": "core.http.transport",
    "Ending": "core.http._outcomes",
    "Fault": "core.http._seam",
    "HttpClient": "core.http._ports",
    "Pin": "core.http._seam",
    "Request": "core.http._messages",
    "Resolver": "core.http._ports",
    "Response": "core.http._messages",
    "ResponseStream": "core.http._stream",
    "SecretReader": "core.http._ports",
    "Sink": "core.http._seam",
    "ThreadResolver": "core.http.resolver",
    "Transfer": "core.http._seam",
    "Transport": "core.http._seam",
    "Url": "core.http._url",
    "VaultHttpClient": "core.http._client",
    "WireRequest": "core.http._seam",
    "parse_url": "core.http._url",
}

__all__ = [
    "AddressPolicy",
    "AuditSink",
    "Belt",
    "Bounds",
    "CallContext",
    "CallRecord",
    "CancelSignal",
    "CancellableHttpClient",
    "CancellationSignal",
    "Credential",
    "CurlTransport",
    "Ending",
    "Fault",
    "HttpClient",
    "Pin",
    "Request",
    "Resolver",
    "Response",
    "ResponseStream",
    "SecretReader",
    "Sink",
    "ThreadResolver",
    "Transfer",
    "Transport",
    "Url",
    "VaultHttpClient",
    "WireRequest",
    "parse_url",
]

__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
