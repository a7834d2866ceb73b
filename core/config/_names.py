"""Names that stand in the configuration and elsewhere."""

from __future__ import annotations

import re

_SECRET = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110, section 5.6.2
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")  # RFC 9110, section 5.5, without obsolete bytes
# Framing, routing and hop-by-hop headers: a caller's own, or a secret in one, would let a
# request say one thing to the gates and another to the server.
_RESERVED = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def is_secret_name(text: str) -> bool:
    """Return whether ``text`` may name a secret: ``[a-z0-9][a-z0-9._-]{0,63}``."""
    return _SECRET.fullmatch(text) is not None


def is_header_name(text: str) -> bool:
    """Return whether ``text`` may name an HTTP header: a token."""
    return _HEADER.fullmatch(text) is not None


def is_header_value(text: str) -> bool:
    """Return whether ``text`` may be a header's value: printable ASCII and tabs."""
    return _HEADER_VALUE.fullmatch(text) is not None


def is_reserved_header(name: str) -> bool:
    """Return whether only the client itself may write this header."""
    return name.lower() in _RESERVED
