"""One secret as it is stored: encrypted, with what may be said about it in clear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Placement = Literal["bearer", "header"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRecord:
    """A stored secret. Nothing in it reveals the value without the master key.

    Attributes:
        name: identifier, ``[a-z0-9][a-z0-9._-]{0,63}``.
        version: from 1; every new value raises it.
        placement: how the value travels.
        field: the header it travels in.
        hosts: allow entries it is bound to; empty: no list.
        key_id: which master key wraps the data key.
        wrapped_key: the data key, encrypted under a key derived from the master key.
        nonce: nonce of ``ciphertext``, 12 bytes.
        ciphertext: the value under the data key, with its tag.
        created_us: UTC microseconds of the first version.
        updated_us: UTC microseconds of this version.
    """

    name: str
    version: int
    placement: Placement
    field: str
    hosts: tuple[str, ...]
    key_id: str
    wrapped_key: bytes
    nonce: bytes
    ciphertext: bytes
    created_us: int
    updated_us: int
