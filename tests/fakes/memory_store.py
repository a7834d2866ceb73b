"""A whole store in memory: deterministic, no threads, the same contract as SQLite.

Two stores on one ``MemoryDatabase`` play two processes. Every method gives way to the loop
before and after the one moment at which it takes effect.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import count
from typing import ClassVar, TypeVar

from core.errors import AuditUnavailable, StoreUnavailable
from core.model import (
    AuditAction,
    AuditEntry,
    AuditRow,
    CancelLevel,
    CancelReceipt,
    Event,
    RunRow,
    RunStatus,
    Started,
)
from core.model.secrets import ChainKeyRecord, SecretRecord
from core.store import AuditQuery, Claim, Commit, Committed, KeyRotation, Seal
from tests.fakes.memory_database import MemoryDatabase

__all__ = ["MemoryDatabase", "MemoryStore", "Unfenced", "plain_seal"]

T = TypeVar("T")


def plain_seal(database_id: str) -> Seal:
    """Return a seal without a key, for tests that do not look at the chain."""

    def seal(previous: bytes | None, seq: int, entry: AuditEntry) -> AuditRow:
        values = {item.name: getattr(entry, item.name) for item in fields(AuditEntry)}
        text = f"{database_id}{previous!r}{seq}{values}"
        mac = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        return AuditRow(**values, seq=seq, key_id="plain", mac=mac)

    return seal


class MemoryStore:
    """A ``Store`` in memory.

    Args:
        database: shared with the other processes of the test; None: a new one.
        owner: this process's name; None: the next free one.
        seal: as for ``open_sqlite``.
        now_us: the time that changed rows get.
    """

    _owners: ClassVar[count[int]] = count(1)

    def __init__(
        self,
        database: MemoryDatabase | None = None,
        *,
        owner: str | None = None,
        seal: Callable[[str], Seal] = plain_seal,
        now_us: Callable[[], int] = lambda: 0,
    ) -> None:
        self.database = database or MemoryDatabase()
        self._owner = owner or f"{next(self._owners)}-memory"
        self._seal = seal(self.database.database_id)
        self._now_us = now_us
        self._subscribers: list[Callable[[Sequence[Event]], None]] = []
        self._watchers: list[Callable[[], None]] = []
        self._audit_watchers: list[Callable[[], None]] = []
        self._closed = False
        self.database.alive.add(self._owner)
        self.database.watchers.append(self._watchers)

    def intents_allowed(self, row: RunRow) -> bool:
        """The fence: return whether intents are stored now."""
        return row.status is RunStatus.RUNNING

    @property
    def owner(self) -> str:
        return self._owner

    @property
    def database_id(self) -> str:
        return self.database.database_id

    @property
    def read_only(self) -> bool:
        return False

    @property
    def notices(self) -> tuple[str, ...]:
        return ()

    @property
    def audit_available(self) -> bool:
        return not self._closed

    def die(self) -> None:
        """End as a killed process does: without finishing anything."""
        self._closed = True
        self.database.alive.discard(self._owner)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.die()

    # -- runs

    async def create_run(self, row: RunRow, started: Started) -> Claim:
        return await self._change(lambda: self.database.create(row, started, self._owner))

    async def commit(self, commit: Commit) -> Committed:
        return await self._change(
            lambda: self.database.commit(
                commit, intents_allowed=self.intents_allowed, now_us=self._now_us()
            )
        )

    async def cancel(
        self, run_id: str, *, level: CancelLevel, by: str, reason: str, at_us: int
    ) -> CancelReceipt:
        return await self._change(
            lambda: self.database.cancel(
                run_id, level=level, by=by, reason=reason, at_us=at_us, seal=self._seal
            )
        )

    async def take_over(self, row: RunRow) -> Claim | None:
        return await self._change(lambda: self.database.take_over(row, self._owner))

    async def unclosed_runs(self) -> list[RunRow]:
        await asyncio.sleep(0)
        wanted = (RunStatus.RUNNING, RunStatus.CANCELLED)
        rows = self.database.runs.values()
        return [row for row in rows if row.closed_us is None and row.status in wanted]

    async def get_run(self, run_id: str) -> RunRow | None:
        await asyncio.sleep(0)
        return self.database.runs.get(run_id)

    async def list_runs(self, *, limit: int, before: str | None = None) -> list[RunRow]:
        await asyncio.sleep(0)
        rows = sorted(
            self.database.runs.values(), key=lambda row: (row.created_us, row.run_id), reverse=True
        )
        if before is not None:
            ids = [row.run_id for row in rows]
            rows = rows[ids.index(before) + 1 :] if before in ids else []
        return rows[:limit]

    async def read_events(self, run_id: str, *, after: int, limit: int) -> list[Event]:
        await asyncio.sleep(0)
        events = self.database.events.get(run_id, [])
        return [event for event in events if event.seq is not None and event.seq > after][:limit]

    def subscribe(self, callback: Callable[[Sequence[Event]], None]) -> Callable[[], None]:
        return _add(self._subscribers, callback)

    def watch(
        self, callback: Callable[[], None], *, closely: Callable[[], bool] = lambda: True
    ) -> Callable[[], None]:
        return _add(self._watchers, callback)

    # -- audit

    async def append_audit(self, entry: AuditEntry) -> AuditRow:
        return await self._change(
            lambda: self.database.append_audit(entry, self._seal), AuditUnavailable
        )

    async def begin_call(self, entry: AuditEntry) -> None:
        await self._change(lambda: self.database.begin_call(entry, self._owner), AuditUnavailable)

    async def close_interrupted(self, at_us: int) -> list[AuditRow]:
        if not self._closed and not self.database.left_by_the_dead(self._owner):
            await asyncio.sleep(0)
            return []
        return await self._change(
            lambda: self.database.close_interrupted(at_us, self._owner, self._seal),
            AuditUnavailable,
        )

    def watch_audit(self, callback: Callable[[], None]) -> Callable[[], None]:
        removers = (_add(self._audit_watchers, callback), _add(self._watchers, callback))

        def remove() -> None:
            for each in removers:
                each()

        return remove

    async def audit_page(
        self, query: AuditQuery, *, before: int | None = None, skip: int = 0, limit: int = 100
    ) -> list[AuditRow]:
        await asyncio.sleep(0)
        rows = [row for row in reversed(self.database.audit) if _matches(query, row)]
        if before is not None:
            rows = [row for row in rows if row.seq < before]
        return rows[skip : skip + limit]

    async def audit_counts(self) -> dict[AuditAction, int]:
        await asyncio.sleep(0)
        counts: dict[AuditAction, int] = {}
        for row in self.database.audit:
            counts[row.action] = counts.get(row.action, 0) + 1
        return counts

    async def audit_count(self, query: AuditQuery) -> int:
        await asyncio.sleep(0)
        return sum(_matches(query, row) for row in self.database.audit)

    # -- secrets

    async def put_secret(self, record: SecretRecord, entry: AuditEntry) -> bool:
        def put() -> bool:
            known = self.database.secrets.get(record.name)
            if known is not None and known.version != record.version - 1:
                return False
            self.database.secrets[record.name] = record
            self.database.append_audit(entry, self._seal)
            return True

        return await self._change(put)

    async def get_secret(self, name: str) -> SecretRecord | None:
        await asyncio.sleep(0)
        return self.database.secrets.get(name)

    async def list_secrets(self) -> list[SecretRecord]:
        await asyncio.sleep(0)
        return [self.database.secrets[name] for name in sorted(self.database.secrets)]

    async def delete_secret(self, name: str, entry: AuditEntry) -> bool:
        def delete() -> bool:
            found = self.database.secrets.pop(name, None) is not None
            if found:
                self.database.append_audit(entry, self._seal)
            return found

        return await self._change(delete)

    async def chain_keys(self) -> list[ChainKeyRecord]:
        await asyncio.sleep(0)
        return [self.database.chain_keys[key_id] for key_id in sorted(self.database.chain_keys)]

    async def rotate_key(self, rotation: KeyRotation) -> bool:
        return await self._change(lambda: self.database.rotate_key(rotation))

    # -- inside

    async def _change(
        self, transaction: Callable[[], T], error: type[StoreUnavailable] = StoreUnavailable
    ) -> T:
        await asyncio.sleep(0)
        if self._closed:
            raise error("The store is closed")
        self.database.audited = False
        value = transaction()
        events = list(self.database.journal)
        self.database.journal.clear()
        if self.database.audited:
            _tell(self._audit_watchers)
        if events:
            for subscriber in tuple(self._subscribers):
                subscriber(events)
        loop = asyncio.get_running_loop()
        for watchers in self.database.watchers:
            if watchers is not self._watchers:
                for watcher in watchers:
                    loop.call_soon(watcher)
        await asyncio.sleep(0)
        return value


class Unfenced(MemoryStore):
    """The same without the fence: it proves that tests of the fence can fail."""

    def intents_allowed(self, row: RunRow) -> bool:
        return True


def _add(callbacks: list[T], callback: T) -> Callable[[], None]:
    callbacks.append(callback)

    def remove() -> None:
        if callback in callbacks:
            callbacks.remove(callback)

    return remove


def _tell(callbacks: list[Callable[[], None]]) -> None:
    for callback in tuple(callbacks):
        try:
            callback()
        except Exception as error:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "An audit watcher failed", "exception": error}
            )


def _matches(query: AuditQuery, row: AuditRow) -> bool:
    return (
        (not query.actions or row.action in query.actions)
        and query.run_id in (None, row.run_id)
        and (query.since_us is None or row.at_us >= query.since_us)
        and (query.until_us is None or row.at_us < query.until_us)
    )
