"""Checks of a request that need no waiting."""

from __future__ import annotations

from core.config import AllowList, is_header_name, is_header_value, is_reserved_header
from core.http._context import CallContext
from core.http._messages import Request
from core.http._outcomes import Ending
from core.http._url import Url
from core.vault import Credential

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_DEFAULT_HEADERS = (("Accept-Encoding", "identity"), ("User-Agent", "stepbrake"))


def known_method(request: Request) -> str | None:
    """Return the method if it is one of ours, so that a row never holds other text."""
    return request.method if request.method in _METHODS else None


def check_host(url: Url, credential: Credential | None) -> None:
    """Raise ``RequestRefused`` if the credential is bound to other hosts."""
    if credential is None:
        return
    if not AllowList.of(credential.hosts).admits(url.host, url.port):
        raise Ending.CREDENTIAL_HOST.error(where=url.host)


def check_tool(context: CallContext, credential: Credential | None) -> None:
    """Raise ``RequestRefused`` if the credential is not for the tool that calls."""
    if credential is None or credential.tools is None or context.tool is None:
        return
    if context.tool not in credential.tools:
        raise Ending.CREDENTIAL_TOOL.error(where=context.tool)


def check_message(request: Request) -> None:
    """Raise ``RequestRefused`` for a method or a header that must not go out."""
    if request.method not in _METHODS:
        raise Ending.METHOD_INVALID.error()
    for name, value in request.headers:
        if not _is_header(name, value):
            raise Ending.HEADER_INVALID.error()
        if is_reserved_header(name):
            raise Ending.HEADER_RESERVED.error(where=name)


def with_defaults(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return ``headers`` and the ones that every request has."""
    given = {name.lower() for name, _ in headers}
    added = ((name, value) for name, value in _DEFAULT_HEADERS if name.lower() not in given)
    return (*headers, *added)


def _is_header(name: object, value: object) -> bool:
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    return is_header_name(name) and is_header_value(value)
