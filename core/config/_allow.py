"""The allow list: which hosts may be called."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from core.config._hosts import canonical_host
from core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class AllowList:
    """Parsed entries. Without any, every host is admitted and none is named.

    Attributes:
        literals: host and port pairs; port None means any.
        suffixes: what a host has to end with, leading dot included.
    """

    literals: frozenset[tuple[str, int | None]]
    suffixes: tuple[str, ...]

    @staticmethod
    def of(entries: tuple[str, ...]) -> AllowList:
        """Parse entries ``host``, ``host:port``, ``*.suffix``.

        Raises:
            ConfigError: an entry is malformed.
        """
        return _parse(tuple(entries))

    def names(self, host: str, port: int) -> bool:
        """Return whether an entry names this host literally, for this port."""
        return (host, None) in self.literals or (host, port) in self.literals

    def admits(self, host: str, port: int) -> bool:
        """Return whether the list lets this host pass; an empty one lets all."""
        if not self.literals and not self.suffixes:
            return True
        return self.names(host, port) or host.endswith(self.suffixes)


@lru_cache(maxsize=256)
def _parse(entries: tuple[str, ...]) -> AllowList:
    literals: set[tuple[str, int | None]] = set()
    suffixes: list[str] = []
    for entry in entries:
        try:
            if entry.startswith("*."):
                suffixes.append("." + canonical_host(entry[2:]))
            else:
                literals.add(_literal(entry))
        except ValueError:
            raise ConfigError(
                "An allow entry is malformed",
                where=repr(entry),
                hint="Write host, host:port or *.suffix, without a scheme or a path.",
            ) from None
    return AllowList(frozenset(literals), tuple(suffixes))


def _literal(entry: str) -> tuple[str, int | None]:
    bare_v6 = entry.count(":") > 1 and not entry.startswith("[")
    if bare_v6:
        return canonical_host(f"[{entry}]"), None
    host, colon, port = entry.rpartition(":")
    if not colon or entry.endswith("]"):
        return canonical_host(entry), None
    if not port.isascii() or not port.isdigit() or not 0 < int(port) <= 65_535:
        raise ValueError
    return canonical_host(host), int(port)
