"""The master key and the protocol of whatever provides it."""

from __future__ import annotations

import hashlib
from typing import NoReturn, Protocol

KEY_BYTES = 32


class MasterKey:
    """The key that everything else is derived from. Prints and pickles as nothing.

    Args:
        key: 32 bytes.

    Attributes:
        key_id: 16 hex digits that name the key and tell nothing about it.
    """

    __slots__ = ("_key", "key_id")

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError("a master key has 32 bytes")
        self._key = key
        self.key_id = hashlib.sha256(b"stepbrake key id\x00" + key).hexdigest()[:16]

    def reveal(self) -> bytes:
        """Return the key's 32 bytes."""
        return self._key

    def __repr__(self) -> str:
        return f"MasterKey({self.key_id})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a master key cannot be pickled")


class KeyProvider(Protocol):
    """Where the master key comes from."""

    def master_key(self, *, make: bool = False) -> MasterKey:
        """Return the master key.

        Args:
            make: make one if there is none: nothing is sealed or encrypted yet.

        Raises:
            SecretUnavailable: there is none, or it may not be used as it is.
        """
