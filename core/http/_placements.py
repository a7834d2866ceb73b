"""A credential's way into a request: checked before any secret is read, placed after."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, quote_plus, unquote_plus

from core.config import is_header_name, is_header_value, is_reserved_header
from core.errors import SecretUnavailable
from core.http._messages import Request, find_header
from core.http._outcomes import Ending
from core.http._url import Url
from core.vault import Credential, Secret

_FORM = "application/x-www-form-urlencoded"
_IN_HEADER = frozenset({"bearer", "basic", "oauth2", "header", "api_key"})


@dataclass(frozen=True, slots=True)
class Placed:
    """What goes out; none of it is shown."""

    url: Url
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def __repr__(self) -> str:
        return "Placed([redacted])"


def secrets_of(credential: Credential) -> tuple[str, ...]:
    """Return the names of the stored secrets that a request carries as they are."""
    main = () if credential.placement == "oauth2" else (credential.name,)
    return (*main, *(secret for _, secret in credential.body_fields))


def check_room(request: Request, url: Url, credential: Credential) -> None:
    """Raise ``RequestRefused`` if the request leaves no room for the credential."""
    if credential.placement in _IN_HEADER:
        if not is_header_name(credential.field) or is_reserved_header(credential.field):
            raise Ending.HEADER_INVALID.error()
        if find_header(request.headers, credential.field) is not None:
            raise Ending.CREDENTIAL_CONFLICT.error(where=credential.field)
    elif credential.placement == "query" and credential.field in _names(url.query):
        raise Ending.CREDENTIAL_CONFLICT.error(where=credential.field)
    fields = _body_fields(credential)
    if not fields:
        return
    taken = _taken(request)
    for name in fields:
        if name in taken:
            raise Ending.CREDENTIAL_CONFLICT.error(where=name)


def place(
    request: Request, url: Url, credential: Credential, secrets: Mapping[str, Secret]
) -> Placed:
    """Return the request with every secret where it belongs.

    Args:
        request: passed ``check_room``.
        url: the request's, parsed.
        credential: says what goes where.
        secrets: values by name; for ``oauth2`` the access token under the credential's.

    Raises:
        SecretUnavailable: a value cannot stand where it belongs.
    """
    headers, body = request.headers, request.body
    if credential.placement in _IN_HEADER:
        value = _header_value(credential, secrets[credential.name].reveal())
        headers = (*headers, (credential.field, value))
    elif credential.placement == "query":
        pair = f"{_quoted(credential.field)}={_quoted(secrets[credential.name].reveal())}"
        url = replace(url, query=f"{url.query}&{pair}" if url.query else pair)
    fields = _body_fields(credential)
    if fields:
        values = {name: secrets[secret].reveal() for name, secret in fields.items()}
        if _is_json(request):
            body = _into_json(body, values)
        else:
            body = _into_form(body, values)
            if find_header(headers, "content-type") is None:
                headers = (*headers, ("Content-Type", _FORM))
    return Placed(url, headers, body)


def _body_fields(credential: Credential) -> dict[str, str]:
    main = {credential.field: credential.name} if credential.placement == "body_field" else {}
    return main | dict(credential.body_fields)


def _header_value(credential: Credential, value: str) -> str:
    if credential.placement == "basic":
        pair = value if credential.username is None else f"{credential.username}:{value}"
        if ":" not in pair:
            raise SecretUnavailable(
                "The secret is no user:password",
                where=credential.name,
                hint="Set it as user:password, or configure 'username'.",
            )
        return f"Basic {b64encode(pair.encode()).decode()}"
    if not value or not is_header_value(value):
        raise SecretUnavailable(
            "The secret cannot stand in a header",
            where=credential.name,
            hint="Set it again: printable ASCII, without line breaks.",
        )
    return value if credential.placement in ("header", "api_key") else f"Bearer {value}"


def _taken(request: Request) -> frozenset[str]:
    """Return the body's field names.

    Raises:
        RequestRefused: the body can take no fields.
    """
    if _is_json(request):
        if not request.body.strip():
            return frozenset()
        try:
            content = json.loads(request.body)
        except (ValueError, RecursionError):
            raise Ending.BODY_UNFIT.error() from None
        # Fields are put right behind the first brace, so nothing may come before it.
        if not isinstance(content, dict) or not request.body.lstrip().startswith(b"{"):
            raise Ending.BODY_UNFIT.error()
        return frozenset(content)
    given = find_header(request.headers, "content-type")
    if given is not None and given.partition(";")[0].strip().lower() != _FORM:
        raise Ending.BODY_UNFIT.error()
    try:
        return _names(request.body.decode("ascii"))
    except UnicodeDecodeError:
        raise Ending.BODY_UNFIT.error() from None


def _is_json(request: Request) -> bool:
    kind = (find_header(request.headers, "content-type") or "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _into_json(body: bytes, values: Mapping[str, str]) -> bytes:
    # Everything else stays byte for byte: numbers have more than one spelling.
    added = json.dumps(dict(values))[1:-1].encode()
    if not body.strip():
        return b"{" + added + b"}"
    rest = body.lstrip()[1:]
    comma = b"" if rest.lstrip().startswith(b"}") else b", "
    return b"{" + added + comma + rest


def _into_form(body: bytes, values: Mapping[str, str]) -> bytes:
    pairs = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in values.items())
    return b"&".join(part for part in (body, pairs.encode()) if part)


def _names(pairs: str) -> frozenset[str]:
    return frozenset(unquote_plus(pair.partition("=")[0]) for pair in pairs.split("&") if pair)


def _quoted(text: str) -> str:
    return quote(text, safe="")
