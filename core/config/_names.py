"""Names that stand in the configuration and elsewhere."""

from __future__ import annotations

import re

from core.config._types import DEFAULT_FIELDS, Placement

_SECRET = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_BODY_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_PARAMETER = re.compile(r"[A-Za-z0-9._~-]{1,64}")  # RFC 3986, unreserved: nothing to escape
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


def is_body_field(text: str) -> bool:
    """Return whether ``text`` may name a body field: ``[A-Za-z_][A-Za-z0-9_]{0,63}``."""
    return _BODY_FIELD.fullmatch(text) is not None


def is_parameter(text: str) -> bool:
    """Return whether ``text`` may name a query parameter: 1 to 64 unreserved characters."""
    return _PARAMETER.fullmatch(text) is not None


def field_fault(placement: Placement, field: str) -> str | None:
    """Return what is wrong with a field of a placement, None if nothing is.

    Args:
        placement: how the secret travels.
        field: the header, query parameter or body field.
    """
    match placement:
        case "header" | "api_key":
            if not is_header_name(field):
                return "must be a header's name"
            if is_reserved_header(field):
                return "must be a header that the server expects the secret in"
        case "query":
            if not is_parameter(field):
                return "must be a query parameter's name (letters, digits, '.', '_', '~', '-')"
        case "body_field":
            if not is_body_field(field):
                return "must be a body field's name (letters, digits, '_'; no digit first)"
        case _:
            if field != DEFAULT_FIELDS[placement]:
                return f"is not for placement '{placement}'"
    return None
