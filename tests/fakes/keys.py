"""Key providers in memory."""

from __future__ import annotations

from core.errors import SecretUnavailable
from core.keys import MasterKey


class Keyring:
    """A ``KeyProvider`` whose keys a test adds and takes away; the first one is in use."""

    def __init__(self, *keys: bytes) -> None:
        self.keys = [MasterKey(key) for key in keys or (b"k" * 32,)]
        self.asked: list[str] = []

    def master_key(self, *, make: bool = False) -> MasterKey:
        if not self.keys:
            raise SecretUnavailable("locked", code="secret_locked")
        return self.keys[0]

    def find(self, key_id: str) -> MasterKey | None:
        self.asked.append(key_id)
        return next((key for key in self.keys if key.key_id == key_id), None)

    def renew(self, key_id: str) -> MasterKey:
        if self.master_key().key_id == key_id:
            self.keys.insert(0, MasterKey.random())
        return self.keys[0]
