"""Sealing: each row's mac covers the row and the mac before it."""

from __future__ import annotations

import hashlib

from core.audit._encoding import encode, genesis, normalised
from core.model.audit import AuditEntry, AuditRow

MAC_BYTES = 32
_BLOCK = 64


class Mac:
    """HMAC-SHA256 with one key, its two hash states prepared once (RFC 2104).

    Args:
        key: 32 bytes.
    """

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        if len(key) != MAC_BYTES:
            raise ValueError("a chain key has 32 bytes")
        padded = key.ljust(_BLOCK, b"\x00")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded)).copy
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded)).copy

    def __call__(self, data: bytes) -> bytes:
        """Return the mac of ``data``, 32 bytes."""
        inner = self._inner()
        inner.update(data)
        outer = self._outer()
        outer.update(inner.digest())
        return outer.digest()


class Chain:
    """What turns entries into the log's next rows.

    Args:
        key: the chain key, 32 bytes.
        key_id: names the key in every row it seals.
        database_id: the database the log belongs to.

    Attributes:
        mac: computes the mac of a row.
        genesis: what stands before the first row.
    """

    __slots__ = ("genesis", "key_id", "mac")

    def __init__(self, key: bytes, key_id: str, database_id: str) -> None:
        self.mac = Mac(key)
        self.key_id = key_id
        self.genesis = genesis(database_id)

    def seal(self, previous: bytes | None, seq: int, entry: AuditEntry) -> AuditRow:
        """Return ``entry`` as row ``seq`` after the row whose mac is ``previous``.

        The store calls it inside the writer's transaction. ``previous`` is None for the
        first row.

        Raises:
            TypeError: a field has another type than its own; the action is no member.
            ValueError: a number is out of range.
        """
        if (previous is None) != (seq == 1):
            raise ValueError("the first row, and only the first, has none before it")
        entry = normalised(entry)
        stored = (
            seq,
            entry.at_us,
            entry.action.value,
            entry.success,
            entry.status,
            entry.method,
            entry.host,
            entry.path,
            entry.credential,
            entry.run_id,
            entry.step,
            entry.call_id,
            entry.actor,
            entry.message,
            self.key_id,
            None,
        )
        return AuditRow(
            at_us=entry.at_us,
            action=entry.action,
            success=entry.success,
            status=entry.status,
            method=entry.method,
            host=entry.host,
            path=entry.path,
            credential=entry.credential,
            run_id=entry.run_id,
            step=entry.step,
            call_id=entry.call_id,
            actor=entry.actor,
            message=entry.message,
            seq=seq,
            key_id=self.key_id,
            mac=self.mac(encode(self.genesis if previous is None else previous, seq, stored)),
        )
