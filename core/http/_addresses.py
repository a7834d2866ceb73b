"""Which addresses a call may connect to.

``ipaddress.is_global`` differs between versions of Python and calls several
dangerous ranges global, so the table is our own. IPv6 is an allow-list:
2000::/3 less what is reserved inside it.

Sources: the IANA special-purpose address registries for IPv4 and IPv6, and the
documented metadata addresses of the large clouds.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from core.config import parse_address

_REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(text)
    for text in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
_METADATA: frozenset[IPv4Address | IPv6Address] = frozenset(
    ip_address(text)
    for text in (
        "100.100.100.200",
        "168.63.129.16",
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
# Where an IPv6 address carries an IPv4 one: the range, and the offsets of its four bytes.
_EMBEDDINGS = (
    (_MAPPED, (12, 13, 14, 15)),
    (IPv6Network("::/96"), (12, 13, 14, 15)),
    (IPv6Network("::ffff:0:0:0/96"), (12, 13, 14, 15)),
    (IPv6Network("64:ff9b::/96"), (12, 13, 14, 15)),
    (IPv6Network("64:ff9b:1::/48"), (6, 7, 9, 10)),
    (IPv6Network("64:ff9b:1::/48"), (12, 13, 14, 15)),
    (IPv6Network("2002::/16"), (2, 3, 4, 5)),
    (IPv6Network("2001::/32"), (4, 5, 6, 7)),
)
_TEREDO = IPv6Network("2001::/32")


class AddressPolicy:
    """The rule for addresses. It has no knobs: exceptions are literal allow entries."""

    name = "default"

    def allows(self, address: str, *, literal: bool = False) -> bool:
        """Return whether a call may connect to ``address``.

        Args:
            address: an address literal without brackets; anything else gives False.
            literal: True if the allow-list names the host literally: that frees
                private addresses, though never a metadata service.
        """
        return isinstance(address, str) and _verdict(address, literal)


@lru_cache(maxsize=4096)
def _verdict(address: str, literal: bool) -> bool:
    parsed = parse_address(address)
    if parsed is None or _reaches_metadata(parsed):
        return False
    return literal or _is_public(parsed)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        if address not in _MAPPED:
            return address in _UNICAST_V6 and not any(address in net for net in _REFUSED_V6)
        address = IPv4Address(address.packed[12:])
    return not any(address in net for net in _REFUSED_V4)


def _reaches_metadata(address: IPv4Address | IPv6Address) -> bool:
    if address in _METADATA:
        return True
    if isinstance(address, IPv4Address):
        return False
    packed = address.packed
    carried = [
        IPv4Address(bytes(packed[offset] for offset in offsets))
        for net, offsets in _EMBEDDINGS
        if address in net
    ]
    if address in _TEREDO:
        carried.append(IPv4Address(bytes(byte ^ 0xFF for byte in packed[12:])))
    return any(inner in _METADATA for inner in carried)
