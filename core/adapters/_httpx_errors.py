"""Our exceptions as exceptions of a library of the httpx family."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

from core.errors import HttpError, RequestCancelled, RequestRefused, RequestTimeout, TransportFailed

# What httpx raises in the same place, by our class and code; "" stands for every other code.
_NAMES: dict[type[HttpError], dict[str, str]] = {
    RequestRefused: {
        "address_not_allowed": "ConnectError",
        "credential_host_not_allowed": "ConnectError",
        "credential_tool_not_allowed": "ConnectError",
        "host_not_allowed": "ConnectError",
        "host_unresolved": "ConnectError",
        "scheme_not_allowed": "UnsupportedProtocol",
        "": "LocalProtocolError",
    },
    RequestTimeout: {
        "timeout_connect": "ConnectTimeout",
        "timeout_lookup": "ConnectTimeout",
        "": "ReadTimeout",
    },
    TransportFailed: {
        "certificate_invalid": "ConnectError",
        "connect_failed": "ConnectError",
        "pin_violated": "ConnectError",
        "protocol_error": "RemoteProtocolError",
        "tls_failed": "ConnectError",
        "transport_timeout": "ReadTimeout",
        "transport_unusable": "ConnectError",
        "": "ReadError",
    },
    RequestCancelled: {"": "TransportError"},
}


def translated(error: HttpError, library: ModuleType) -> HttpError:
    """Return ``error`` as one that is also an exception of ``library``.

    Its class has two bases, ours and the nearest of the library's, so that either name
    catches it. Text and attributes (``code``, ``where``, ``hint``, …) stay; the chain of
    exceptions behind it does not.
    """
    names = _NAMES.get(type(error), {"": "TransportError"})
    theirs = getattr(library, names.get(error.code) or names[""])
    ours: Any = type(error)
    both = _both(ours, theirs)
    made: HttpError = both.__new__(both, *error.args)
    theirs.__init__(made, *error.args)
    vars(made).update(vars(error))
    return made


@cache
def _both(ours: Any, theirs: Any) -> Any:
    doc = f"``{theirs.__module__}.{theirs.__name__}`` that is ``{ours.__name__}`` too."
    return type(theirs.__name__, (ours, theirs), {"__doc__": doc, "__module__": __name__})
