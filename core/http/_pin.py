"""From vetted addresses to a pin."""

from __future__ import annotations

from hashlib import blake2b

from core.http._seam import Pin


def make_pin(policy: str, partition: str, addresses: tuple[str, ...], *, literal: bool) -> Pin:
    """Return a pin whose label differs if anything that it stands for differs.

    Args:
        policy: name of the address policy that vetted them.
        partition: name of the credential, or empty.
        addresses: canonical literals, in the order to try them.
        literal: whether an allow entry names the host literally.
    """
    parts = (policy, partition, "literal" if literal else "", *sorted(addresses))
    digest = blake2b("\x00".join(parts).encode(), digest_size=16).hexdigest()
    return Pin(label=f"p{digest}.invalid", addresses=addresses, literal=literal)
