"""Ids that count, and keys that are known."""

from __future__ import annotations

from core.errors import SecretUnavailable
from core.keys import MasterKey


class CountingIds:
    """``core.ids.Ids`` that a picture can show."""

    def __init__(self) -> None:
        self._runs = 0
        self._calls = 0

    def run(self) -> str:
        self._runs += 1
        return f"0195e6a0-0000-7000-8000-{self._runs:012d}"

    def call(self) -> str:
        self._calls += 1
        return f"0195e6a0-0000-7000-9000-{self._calls:012d}"


class FixedKeys:
    """A ``KeyProvider`` with one known key."""

    def master_key(self, *, make: bool = False) -> MasterKey:
        return MasterKey(bytes(range(32)))

    def find(self, key_id: str) -> MasterKey | None:
        key = self.master_key()
        return key if key.key_id == key_id else None

    def renew(self, key_id: str) -> MasterKey:
        raise SecretUnavailable("This key stays", where=key_id)
