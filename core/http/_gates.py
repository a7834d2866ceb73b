"""Checks of a request that need no waiting, and the credential's way into it."""

from __future__ import annotations

from core.config import AllowList, is_header_name, is_header_value, is_reserved_header
from core.errors import SecretUnavailable
from core.http._messages import Request, find_header
from core.http._outcomes import Ending
from core.http._url import Url
from core.vault import Credential, Secret

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


def check_message(request: Request, credential: Credential | None) -> None:
    """Raise ``RequestRefused`` for a method or a header that must not go out."""
    if request.method not in _METHODS:
        raise Ending.METHOD_INVALID.error()
    for name, value in request.headers:
        if not _is_header(name, value):
            raise Ending.HEADER_INVALID.error()
        if is_reserved_header(name):
            raise Ending.HEADER_RESERVED.error(where=name)
    if credential is not None:
        header = _placement_header(credential)
        if not is_header_name(header) or is_reserved_header(header):
            raise Ending.HEADER_INVALID.error()
        if find_header(request.headers, header) is not None:
            raise Ending.CREDENTIAL_CONFLICT.error(where=header)


def wire_headers(
    request: Request, credential: Credential | None, secret: Secret | None
) -> tuple[tuple[str, str], ...]:
    """Return the headers that go out, the secret in its place.

    Raises:
        SecretUnavailable: the secret cannot stand in a header.
    """
    given = {name.lower() for name, _ in request.headers}
    headers = [*request.headers]
    headers += [(name, value) for name, value in _DEFAULT_HEADERS if name.lower() not in given]
    if credential is not None and secret is not None:
        headers.append((_placement_header(credential), _placement_value(credential, secret)))
    return tuple(headers)


def _is_header(name: object, value: object) -> bool:
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    return is_header_name(name) and is_header_value(value)


def _placement_header(credential: Credential) -> str:
    return "Authorization" if credential.placement == "bearer" else credential.header


def _placement_value(credential: Credential, secret: Secret) -> str:
    value = secret.reveal()
    if not value or not is_header_value(value):
        raise SecretUnavailable(
            "The secret cannot stand in a header",
            where=credential.name,
            hint="Set it again: printable ASCII, without line breaks.",
        )
    return f"Bearer {value}" if credential.placement == "bearer" else value
