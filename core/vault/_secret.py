"""A secret's value, its use, and what may be said about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from core.config import OAuthEntry, Placement


class Secret:
    """A value that does not show itself: not in ``repr``, ``str``, a format or a pickle."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value. Hand it on at once; keep it in no variable that outlives a call."""
        return self._value

    def __repr__(self) -> str:
        return "Secret([redacted])"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret can be neither pickled nor copied")


@dataclass(frozen=True, slots=True)
class Credential:
    """Which secrets go where in a request, and who may send them to which hosts.

    Attributes:
        name: the identifier: what an audit row shows, and the name of the main secret.
        placement: how the main secret travels: ``bearer`` (``Authorization: Bearer …``),
            ``basic`` (``Authorization: Basic …``), ``header`` and ``api_key`` (the bare value
            in ``field``), ``query`` (a parameter), ``body_field`` (a field of a JSON or form
            body), ``oauth2`` (a token that is asked for first, sent as ``bearer``).
        field: the header, query parameter or body field; ``Authorization`` for ``bearer``,
            ``basic`` and ``oauth2``.
        hosts: allow entries (``host``, ``host:port``, ``*.suffix``) it is bound to;
            empty: no list.
        username: for ``basic``; None: the secret itself is ``user:password``.
        tools: the tools that may use it; None: every one.
        expires_us: UTC microseconds after which it is refused, None: never.
        body_fields: more secrets that travel in the body, as pairs of field and secret.
        oauth: how a token is had; only and always for ``oauth2``.
    """

    name: str
    placement: Placement
    field: str
    hosts: tuple[str, ...] = ()
    username: str | None = None
    tools: tuple[str, ...] | None = None
    expires_us: int | None = None
    body_fields: tuple[tuple[str, str], ...] = ()
    oauth: OAuthEntry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretInfo:
    """What is known about a secret without its value.

    Attributes:
        credential: name, placement and hosts.
        version: from 1; every new value raises it.
        description: a line for a person.
        created_us: UTC microseconds of the first version.
        updated_us: UTC microseconds of this version.
    """

    credential: Credential
    version: int
    description: str = ""
    created_us: int
    updated_us: int
