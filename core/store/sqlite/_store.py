"""The SQLite store: one writer, readers apart, everything durable when acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from core.clock import Clock, SystemClock
from core.errors import (
    AuditUnavailable,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
    UnknownRun,
)
from core.model.audit import AuditEntry, AuditRow
from core.model.events import Event, Started
from core.model.receipts import CancelReceipt
from core.model.runs import RunRow
from core.model.secrets import SecretRecord
from core.model.words import AuditAction, CancelLevel
from core.store._place import database_file
from core.store.protocol import AuditQuery, Claim, Commit, Committed, Seal, Sealer
from core.store.sqlite import _audit, _commit, _driver, _events, _rows, _runs, _secrets
from core.store.sqlite._errors import is_outage, refused, unavailable, unusable
from core.store.sqlite._locks import OwnerLock
from core.store.sqlite._transact import Synchronous, Transaction
from core.store.sqlite._watch import Watch
from core.store.sqlite._writer import Writer
from core.text import storable

_OUTAGE = "Audit unavailable; calls were refused"

T = TypeVar("T")


class SqliteStore:
    """A ``Store`` in one SQLite file. Made by ``open_sqlite``.

    Attributes:
        path: the database file.
        intents_allowed: the fence, as SQL on the run's row: when intents are stored.
    """

    intents_allowed = "status = 'running'"

    def __init__(self, path: Path, *, seal: Sealer, clock: Clock, synchronous: Synchronous) -> None:
        self.path = path
        self._sealer = seal
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._boundary = _commit.boundary(self.intents_allowed)
        self._subscribers: list[Callable[[Sequence[Event]], None]] = []
        self._writer = Writer(
            path,
            synchronous=synchronous,
            publish=self._publish,
            changed=self._changed,
            recover=self._end_outage,
        )
        self._readers: list[_driver.Reader] = []
        self._turn = 0
        self._closed = False
        self._seal: Seal
        self._lock: OwnerLock | None
        self._watch: Watch
        self._database_id: str

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        seal: Sealer,
        clock: Clock | None = None,
        synchronous: Synchronous = "auto",
    ) -> Self:
        """Open a database; make it, or bring it to this version, if need be.

        Args:
            path: the file; a new one gets mode 0600, a new folder 0700.
            seal: gives what seals the database's audit rows.
            clock: the machine's if None.
            synchronous: ``auto`` syncs to the disk what must be durable; ``full`` syncs
                each commit, ``normal`` none.

        Raises:
            StoreError: there is no database of ours and none can be made.
        """
        store = cls(
            database_file(path), seal=seal, clock=clock or SystemClock(), synchronous=synchronous
        )
        await store._start()
        return store

    # -- the whole store

    @property
    def owner(self) -> str:
        """Return this process's name in ``RunRow.owner``; empty if read-only."""
        return "" if self._lock is None else self._lock.owner

    @property
    def database_id(self) -> str:
        """Return the id that the database got when it was made."""
        return self._database_id

    @property
    def read_only(self) -> bool:
        """Return True for a database of a later version."""
        return self._lock is None

    async def check(self) -> list[str]:
        """Return what SQLite's ``quick_check`` finds wrong; empty if nothing."""
        found = [str(row[0]) for row in await self._read("PRAGMA quick_check(20)")]
        return [] if found == ["ok"] else found

    async def close(self) -> None:
        """Finish what was handed in, then let go of everything. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._watch.close()
        for reader in self._readers:
            await reader.close()
        if self._lock is not None:
            await self._writer.close()

    # -- runs

    async def create_run(self, row: RunRow, started: Started) -> Claim:
        """Insert a running run that this process owns, with its first event."""
        draft, owner = _events.Draft(started), self.owner
        claim = await self._write(
            lambda transaction: _runs.create(transaction, row, draft, owner), durable=False
        )
        # A run that others may cancel makes its process look closely.
        self._watch.hasten()
        return claim

    async def commit(self, commit: Commit) -> Committed:
        """Store a boundary."""
        boundary = _commit.Boundary(commit, self._boundary, self._clock.now_us())
        return await self._write(boundary, durable=boundary.durable)

    async def cancel(
        self, run_id: str, *, level: CancelLevel, by: str, reason: str, at_us: int
    ) -> CancelReceipt:
        """Win the row: mark it cancelled, or raise its level, durably."""
        seal = self._seal
        run_id = storable(run_id)

        def cancel(transaction: Transaction) -> CancelReceipt | None:
            return _runs.cancel(
                transaction, seal, run_id=run_id, level=level, by=by, reason=reason, at_us=at_us
            )

        receipt = await self._write(cancel, durable=True)
        if receipt is None:
            raise UnknownRun(
                "There is no such run", where=run_id, hint="See `playground runs list`."
            )
        return receipt

    async def take_over(self, row: RunRow) -> Claim | None:
        """Claim a run of a dead process; None if its owner lives or somebody was faster."""
        lock, now_us = self._held_lock(), self._clock.now_us()

        def take_over(transaction: Transaction) -> Claim | None:
            if row.owner is not None and not lock.is_dead(row.owner):
                return None
            return _runs.take_over(transaction, row, lock.owner, now_us)

        return await self._write(take_over, durable=False)

    async def unclosed_runs(self) -> list[RunRow]:
        """Return every run that is running, or cancelled and not closed."""
        return [_rows.from_row(row) for row in await self._read(_rows.SELECT_UNCLOSED)]

    async def get_run(self, run_id: str) -> RunRow | None:
        """Return one run, None if there is none."""
        rows = await self._read(_rows.SELECT_ONE, (storable(run_id),))
        return _rows.from_row(rows[0]) if rows else None

    async def list_runs(self, *, limit: int, before: str | None = None) -> list[RunRow]:
        """Return runs, newest first; ``before`` is the last run id of the page before."""
        if before is None:
            rows = await self._read(_rows.SELECT_NEWEST, (limit,))
        else:
            rows = await self._read(_rows.SELECT_OLDER, (storable(before), limit))
        return [_rows.from_row(row) for row in rows]

    async def read_events(self, run_id: str, *, after: int, limit: int) -> list[Event]:
        """Return events with a seq above ``after``, in order, at most ``limit``."""
        rows = await self._read(_events.SELECT_PAGE, (storable(run_id), after, limit))
        return [_events.from_row(row) for row in rows]

    def subscribe(self, callback: Callable[[Sequence[Event]], None]) -> Callable[[], None]:
        """Call back on the loop with each batch this process stored, in commit order."""
        self._subscribers.append(callback)

        def unsubscribe() -> None:
            if callback in self._subscribers:
                self._subscribers.remove(callback)

        return unsubscribe

    def watch(
        self, callback: Callable[[], None], *, closely: Callable[[], bool] = lambda: True
    ) -> Callable[[], None]:
        """Call back on the loop soon after another process may have changed the store."""
        return self._watch.add(callback, closely)

    # -- audit

    @property
    def audit_available(self) -> bool:
        """Return False while the store is known to be down."""
        return self._lock is not None and self._writer.available

    async def append_audit(self, entry: AuditEntry) -> AuditRow:
        """Seal and store a row, durably. The same ``call_id`` again returns the first row."""
        seal = self._seal
        return await self._write(
            lambda transaction: _audit.append(transaction, seal, entry),
            durable=True,
            error=AuditUnavailable,
        )

    async def audit_page(
        self, query: AuditQuery, *, before: int | None = None, skip: int = 0, limit: int = 100
    ) -> list[AuditRow]:
        """Return rows newest first, with a seq below ``before``, after skipping ``skip``."""
        rows = await self._read(*_audit.page(query, before=before, skip=skip, limit=limit))
        return [_audit.from_row(row) for row in rows]

    async def audit_counts(self) -> dict[AuditAction, int]:
        """Return how many rows each action has; actions without rows are left out."""
        rows = await self._read(_audit.SELECT_COUNTS)
        return {_audit.action_of(action): count for action, count in rows}

    async def audit_count(self, query: AuditQuery) -> int:
        """Return how many rows a query has."""
        ((rows,),) = await self._read(*_audit.count(query))
        return int(rows)

    # -- secrets

    async def put_secret(self, record: SecretRecord, entry: AuditEntry) -> bool:
        """Insert a secret, or replace its version before, with its audit row."""
        seal = self._seal

        def put(transaction: Transaction) -> bool:
            stored = _secrets.put(transaction.connection, record)
            if stored:
                _audit.append(transaction, seal, entry)
            return stored

        return await self._write(put, durable=True)

    async def get_secret(self, name: str) -> SecretRecord | None:
        """Return one secret, None if there is none."""
        rows = await self._read(_secrets.SELECT_ONE, (storable(name),))
        return _secrets.from_row(rows[0]) if rows else None

    async def list_secrets(self) -> list[SecretRecord]:
        """Return all secrets by name."""
        return [_secrets.from_row(row) for row in await self._read(_secrets.SELECT_ALL)]

    async def delete_secret(self, name: str, entry: AuditEntry) -> bool:
        """Delete a secret, with its audit row; False (and no row) if there is none."""
        seal = self._seal

        def delete(transaction: Transaction) -> bool:
            found = _secrets.delete(transaction.connection, storable(name))
            if found:
                _audit.append(transaction, seal, entry)
            return found

        return await self._write(delete, durable=True)

    # -- inside

    async def _start(self) -> None:
        opened = await self._writer.open()
        self._database_id = opened.database_id
        self._lock = None if opened.writable is None else opened.writable.lock
        self._watch = Watch(opened.watcher, None if self.read_only else self._writer)
        options = "mode=ro" if self.read_only else "mode=rw"
        try:
            for _ in range(2):
                self._readers.append(await _driver.open_reader(self.path, options=options))
            first = await self._read(_audit.SELECT_FIRST_KEY)
            sealed_by = str(first[0][0]) if first else None
            self._seal = self._sealer(opened.database_id, sealed_by)
            if sealed_by is not None and not self.read_only:
                await self._check_key(sealed_by)
        except _driver.Error as error:
            await self.close()
            raise unusable(error, self.path) from None
        except BaseException:
            await self.close()
            raise

    async def _check_key(self, sealed_by: str) -> None:
        """Refuse a key that sealed none of the log's rows: the chain would be broken for good."""
        own = self._seal(None, 1, self._outage_entry()).key_id
        if not await self._read(_audit.SELECT_SEALED_BY, (own,)):
            raise StoreError(
                "The master key is not the one that sealed this database's log",
                where=str(self.path),
                hint=f"PLAYGROUND_KEY_FILE names the key file: it holds key {own},"
                f" key {sealed_by} is needed.",
            )

    async def _read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        if self._closed:
            raise StoreUnavailable("The store is closed", where=str(self.path))
        self._turn = (self._turn + 1) % len(self._readers)
        try:
            return await self._readers[self._turn].rows(sql, parameters)
        except _driver.Error as error:
            if is_outage(error):
                raise unavailable(error, self.path, None) from None
            raise refused(error, self.path) from None

    async def _write(
        self,
        operation: Callable[[Transaction], T],
        *,
        durable: bool,
        error: type[StoreUnavailable] = StoreUnavailable,
    ) -> T:
        self._held_lock()
        return await self._writer.run(operation, durable=durable, error=error)

    def _held_lock(self) -> OwnerLock:
        if self._lock is None:
            raise StoreReadOnly(
                "The database was made by a later version, so it is open for reading only",
                where=str(self.path),
                hint="Update stepbrake, or choose another file with --db or PLAYGROUND_DB.",
            )
        return self._lock

    def _publish(self, events: Sequence[Event]) -> None:
        for callback in tuple(self._subscribers):
            try:
                callback(events)
            except Exception as error:
                self._loop.call_exception_handler(
                    {"message": "A subscriber of the store failed", "exception": error}
                )

    def _changed(self) -> None:
        self._watch.notify()

    def _end_outage(self, transaction: Transaction) -> None:
        _audit.append(transaction, self._seal, self._outage_entry())

    def _outage_entry(self) -> AuditEntry:
        return AuditEntry(
            at_us=self._clock.now_us(),
            action=AuditAction.AUDIT_OUTAGE,
            success=False,
            actor="store",
            message=_OUTAGE,
        )


open_sqlite = SqliteStore.open
