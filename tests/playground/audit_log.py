"""An audit log in memory, for the pane's tests: real rows, no store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from core import AuditQuery
from core.errors import AuditUnavailable
from core.model import AuditAction, AuditEntry, AuditRow

NOON_US = 1_796_040_000_000_000
"""2026-11-30 12:00:00 UTC."""


@dataclass
class Found:
    reason: str
    seq: int


@dataclass
class Report:
    rows: int
    findings: list[Found] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings


class FakeAuditLog:
    """Answers like ``runtime.audit`` and notes what it was asked for."""

    def __init__(self, entries: Iterable[AuditEntry] = ()) -> None:
        self.rows: list[AuditRow] = []
        self.pages: list[tuple[int | None, int, int]] = []
        self.findings: list[Found] = []
        self.down = False
        self._callbacks: list[Callable[[], None]] = []
        self.append(*entries)

    def append(self, *entries: AuditEntry) -> None:
        for entry in entries:
            seq = self.rows[-1].seq + 1 if self.rows else 1
            self.rows.append(sealed(seq, entry))
        for callback in list(self._callbacks):
            callback()

    async def page(
        self, query: AuditQuery, *, before: int | None = None, skip: int = 0, limit: int = 100
    ) -> list[AuditRow]:
        self.pages.append((before, skip, limit))
        if self.down:
            raise AuditUnavailable("the store does not answer")
        found = []
        for row in reversed(self.rows):
            if (before is None or row.seq < before) and _has(query, row):
                found.append(row)
                if len(found) == skip + limit:
                    break
        return found[skip:]

    async def counts(self) -> dict[AuditAction, int]:
        counts: dict[AuditAction, int] = {}
        for row in self.rows:
            counts[row.action] = counts.get(row.action, 0) + 1
        return counts

    async def count(self, query: AuditQuery) -> int:
        return sum(_has(query, row) for row in self.rows)

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    @property
    def subscribers(self) -> int:
        return len(self._callbacks)

    def verify(self) -> Report:
        if self.down:
            raise AuditUnavailable("the store does not answer")
        return Report(len(self.rows), list(self.findings))


def sealed(seq: int, entry: AuditEntry) -> AuditRow:
    values = {name: getattr(entry, name) for name in AuditEntry.__dataclass_fields__}
    mac = hashlib.sha256(str(seq).encode()).digest()
    return AuditRow(seq=seq, key_id="k1-7d0c", mac=mac, **values)


def _has(query: AuditQuery, row: AuditRow) -> bool:
    return (not query.actions or row.action in query.actions) and (
        query.run_id is None or row.run_id == query.run_id
    )


def entry(number: int, action: AuditAction = AuditAction.HTTP_CALL, **values: object) -> AuditEntry:
    """Return the entry of one call, ``number`` seconds after noon."""
    chosen: dict[str, object] = {
        "at_us": NOON_US + number * 1_000_000,
        "action": action,
        "success": action is AuditAction.HTTP_CALL,
        "status": 200,
        "method": "POST",
        "host": "api.example.com",
        "path": "/v1/chat/completions",
        "credential": "openai",
        "run_id": f"0198f3c2-7a10-7c3e-9b1d-0000000{number % 100_000:05d}",
        "step": "r1.m1",
        "call_id": f"call-{number}",
        "actor": "run",
    }
    chosen |= values
    return AuditEntry(**chosen)  # type: ignore[arg-type]
