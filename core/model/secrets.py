"""One secret as it is stored: encrypted, with what may be said about it in clear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.config import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRecord:
    """A stored secret. Nothing in it reveals the value without the master key.

    Attributes:
        name: identifier, ``[a-z0-9][a-z0-9._-]{0,63}``.
        version: from 1; every new value raises it.
        placement: how the value travels.
        field: the header, query parameter or body field it travels in.
        hosts: allow entries it is bound to; empty: no list.
        expires_us: UTC microseconds after which it is refused, None: never.
        description: a line for a person.
        format: which associated data the ciphertexts bind, 1 or 2.
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
    expires_us: int | None = None
    description: str = ""
    format: int = 2
    key_id: str
    wrapped_key: bytes
    nonce: bytes
    ciphertext: bytes
    created_us: int
    updated_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainKeyRecord:
    """The key of a part of the log that an earlier master key sealed.

    Attributes:
        key_id: what the rows that it sealed name.
        wrapped_by: which master key it is encrypted under.
        wrapped_key: the chain key, encrypted under a key derived from that master key.
    """

    key_id: str
    wrapped_by: str
    wrapped_key: bytes
