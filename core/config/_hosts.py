"""Hosts and addresses: one spelling each, or none."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")


@lru_cache(maxsize=4096)
def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address that ``text`` spells in its usual form, or None."""
    if "%" in text:
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def canonical_host(text: str) -> str:
    """Return ``text`` in lower case, without one trailing dot or an address's brackets.

    Raises:
        ValueError: it is no host, or one that two parsers could read in two ways.
    """
    if text.startswith("["):
        address = parse_address(text[1:-1])
        if not isinstance(address, IPv6Address) or not text.endswith("]"):
            raise ValueError("brackets are only for IPv6 addresses")
        return str(address)
    host = text.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_label_is_valid(label) for label in labels):
        raise ValueError("not a host name")
    if _NUMERIC.fullmatch(labels[-1]) and parse_address(host) is None:
        raise ValueError("a numeric host that is no canonical address")
    return host


def _label_is_valid(label: str) -> bool:
    if not _LABEL.fullmatch(label):
        return False
    if not label.startswith("xn--"):
        return True
    try:
        return bool(label.encode("ascii").decode("idna"))
    except UnicodeError:
        return False
