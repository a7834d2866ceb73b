"""What all parts of the SQLite store stand on: one writer, readers apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from core.clock import Clock, SystemClock
from core.errors import StoreError, StoreReadOnly, StoreUnavailable
from core.model.audit import AuditEntry
from core.model.events import Event
from core.model.words import AuditAction
from core.store._place import database_file
from core.store.protocol import Sealer
from core.store.sqlite import _audit, _driver
from core.store.sqlite._callbacks import Callbacks
from core.store.sqlite._errors import is_outage, refused, unavailable, unusable
from core.store.sqlite._locks import OwnerLock
from core.store.sqlite._sealing import Sealing
from core.store.sqlite._transact import News, Synchronous, Transaction
from core.store.sqlite._watch import Watch
from core.store.sqlite._writer import Writer

_READ_ONLY = "This database was made by a later version: it is open for reading only."
_OUTAGE = "Audit unavailable; calls were refused"

T = TypeVar("T")


class Base:
    """An open database.

    Attributes:
        path: the database file.
    """

    def __init__(self, path: Path, *, seal: Sealer, clock: Clock, synchronous: Synchronous) -> None:
        self.path = path
        self._sealer = seal
        self._clock = clock
        self._subscribers: Callbacks[[Sequence[Event]]] = Callbacks("subscriber")
        self._audit_watchers: Callbacks[[]] = Callbacks("audit watcher")
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
        self._sealing: Sealing
        self._lock: OwnerLock | None
        self._watch: Watch
        self._database_id: str
        self._notices: tuple[str, ...] = ()

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

    @property
    def notices(self) -> tuple[str, ...]:
        """Return what a person should know about this store, a sentence each."""
        return self._notices

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

    async def _start(self) -> None:
        opened = await self._writer.open()
        self._database_id = opened.database_id
        self._lock = None if opened.writable is None else opened.writable.lock
        self._notices = (*((_READ_ONLY,) if self.read_only else ()), *opened.notices)
        self._watch = Watch(opened.watcher, None if self.read_only else self._writer)
        options = "mode=ro" if self.read_only else "mode=rw"
        try:
            for _ in range(2):
                self._readers.append(await _driver.open_reader(self.path, options=options))
            newest = await self._read(_audit.SELECT_KEY)
            sealed_by = str(newest[0][0]) if newest else None
            # A key may have to be asked for over a wire.
            self._sealing = await asyncio.to_thread(
                Sealing, self._sealer, opened.database_id, sealed_by
            )
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
        own = self._sealing.key_id
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

    def _publish(self, news: News) -> None:
        if news.events:
            self._subscribers.tell(news.events)
        if news.audited:
            self._audit_watchers.tell()

    def _changed(self) -> None:
        self._watch.notify()

    def _end_outage(self, transaction: Transaction) -> None:
        entry = AuditEntry(
            at_us=self._clock.now_us(),
            action=AuditAction.AUDIT_OUTAGE,
            success=False,
            actor="store",
            message=_OUTAGE,
        )
        _audit.append(transaction, self._sealing, entry)
