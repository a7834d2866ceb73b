"""Stored rows, how one is proved, and what a verification says."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from core.audit._chain import Mac
from core.audit._encoding import StoredRow, encode

KEY_ID = 14
MAC = 15

_KEY_ID = re.compile(r"[0-9a-z]{1,64}")
_MAX_UNKNOWN = 1_000

# What encoding raises on values that no sealed row has.
_NOT_SEALED = (ValueError, TypeError, AttributeError, KeyError, struct.error)


class Reason(StrEnum):
    """What a finding says."""

    EDITED = "edited"
    MISSING = "missing"
    INSERTED = "inserted"
    REORDERED = "reordered"
    REPLACED = "replaced"
    KEY_UNKNOWN = "key_unknown"


class Finding(NamedTuple):
    """One thing that is wrong with a log.

    Attributes:
        reason: what.
        seq: the first row that is absent or was altered; 0 for the whole log.
    """

    reason: Reason
    seq: int


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found.

    Attributes:
        rows: rows read.
        findings: what is wrong, by seq: the first 1,000 of it.
    """

    rows: int
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.findings


@dataclass(frozen=True, slots=True)
class Suspect:
    """A row that does not verify where it stands.

    Attributes:
        row: the row.
        before: the mac stored in the row before it.
        number: the seq it should have been sealed under.
    """

    row: StoredRow
    before: bytes
    number: int

    @property
    def seq(self) -> int:
        """Return where it stands."""
        return int(self.row[0])

    @property
    def mac(self) -> Any:
        """Return what is stored as its mac."""
        return self.row[MAC]


@dataclass(frozen=True, slots=True)
class Hole:
    """A place where rows are missing.

    Attributes:
        seq: the first absent one.
        number: the seq it was sealed under.
        before: the mac stored in the row before it.
        row: the row after the hole; what it was sealed after is gone, so it is unproved.
    """

    seq: int
    number: int
    before: bytes
    row: StoredRow


class Prover:
    """Recomputes the macs of stored rows.

    Args:
        find: returns what computes the macs of a key, by its id; None: no such key.
        expected: ids of the keys that rows are likely to name.
    """

    def __init__(self, find: Callable[[str], Mac | None], expected: Iterable[str] = ()) -> None:
        self._find = find
        self._keys: dict[str, Mac] = {}
        self._unknown: set[str] = set()
        for key_id in expected:
            self._key(key_id)

    def knows(self, row: StoredRow) -> bool:
        """Return whether the key that ``row`` names is there."""
        return self._key(row[KEY_ID]) is not None

    def follow(
        self, rows: Iterator[StoredRow], previous: bytes
    ) -> tuple[int, bytes, StoredRow | None]:
        """Go along rows as long as all is well: an intact log is read here and nowhere else.

        Returns:
            How many rows verified, the last one's mac, and the first row that did not.
        """
        keys, count = self._keys, 0
        for row in rows:
            try:
                if row[KEY_ID] not in keys and not self.knows(row):
                    return count, previous, row
                mac = keys[row[KEY_ID]](encode(previous, count + 1, row))
            except _NOT_SEALED:
                return count, previous, row
            if mac != row[MAC] or row[0] != count + 1:
                return count, previous, row
            previous = mac
            count += 1
        return count, previous, None

    def mac(self, row: StoredRow, previous: bytes, number: int) -> bytes | None:
        """Return the mac of a row's content after ``previous`` under the seq ``number``.

        None: no sealed row can have that content, or its key is unknown.
        """
        key = self._key(row[KEY_ID])
        if key is None:
            return None
        try:
            return key(encode(previous, number, row))
        except _NOT_SEALED:
            return None

    def verifies(self, row: StoredRow, previous: bytes, number: int) -> bool:
        """Return whether ``row`` was sealed under ``number`` after ``previous``."""
        mac = self.mac(row, previous, number)
        return mac is not None and bool(mac == row[MAC])

    def verifies_with_another_key(self, row: StoredRow, previous: bytes, number: int) -> bool:
        """Return whether only the name of the key was changed in ``row``."""
        return any(
            self.verifies((*row[:KEY_ID], key_id, row[MAC]), previous, number)
            for key_id in self._keys
        )

    def _key(self, key_id: Any) -> Mac | None:
        # A table that was altered may hold anything, and much of it.
        if not isinstance(key_id, str) or not _KEY_ID.fullmatch(key_id):
            return None
        key = self._keys.get(key_id)
        if key is None and key_id not in self._unknown:
            key = self._find(key_id)
            if key is not None:
                self._keys[key_id] = key
            elif len(self._unknown) < _MAX_UNKNOWN:
                self._unknown.add(key_id)
        return key
