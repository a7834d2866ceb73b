"""The master key and the protocol of whatever provides it."""

from __future__ import annotations

import hashlib
import secrets
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

    @classmethod
    def random(cls) -> MasterKey:
        """Return a new key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    def reveal(self) -> bytes:
        """Return the key's 32 bytes."""
        return self._key

    def __repr__(self) -> str:
        return f"MasterKey({self.key_id})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a master key cannot be pickled")


class KeyProvider(Protocol):
    """Where master keys come from: one is in use, earlier ones may still be there.

    The methods may block; whoever has a loop to keep calls them in a thread.
    """

    def master_key(self, *, make: bool = False) -> MasterKey:
        """Return the master key in use.

        Args:
            make: make one if there is none: nothing is sealed or encrypted yet.

        Raises:
            SecretUnavailable: there is none, or it may not be used as it is.
        """

    def find(self, key_id: str) -> MasterKey | None:
        """Return the key of this id, in use or earlier; None if it is not there.

        One that is not known yet is looked for anew: another process may have added it.

        Raises:
            SecretUnavailable: the keys may not be used as they are.
        """

    def renew(self, key_id: str) -> MasterKey:
        """Return the key that follows ``key_id``, stored durably before this returns.

        That is the one in use if it is another, for somebody began this before; else a new
        one, which from then on is in use. Earlier keys stay.

        Raises:
            SecretUnavailable: there is no key, or this provider cannot store one.
        """
