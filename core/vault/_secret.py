"""A secret's value, its use, and what may be said about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from core.model.secrets import Placement


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
    """Which secret goes where, and to which hosts it may go.

    Attributes:
        name: the secret's identifier: what an audit row shows.
        placement: ``bearer`` (``Authorization: Bearer …``) or ``header`` (the bare value).
        header: the header's name; ``Authorization`` for ``bearer``.
        hosts: allow entries (``host``, ``host:port``, ``*.suffix``) it is bound to;
            empty: no list.
    """

    name: str
    placement: Placement
    header: str
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretInfo:
    """What is known about a secret without its value.

    Attributes:
        credential: name, placement and hosts.
        version: from 1; every new value raises it.
        created_us: UTC microseconds of the first version.
        updated_us: UTC microseconds of this version.
    """

    credential: Credential
    version: int
    created_us: int
    updated_us: int
