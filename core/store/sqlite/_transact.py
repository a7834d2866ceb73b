"""One transaction of the writer: the gate, the guard, the operations, the commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.model.events import Event
from core.store.protocol import Seal
from core.store.sqlite._driver import Connection, data_version, rollback
from core.store.sqlite._open import Writable

Synchronous = Literal["auto", "normal", "full"]


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the audit log.

    Attributes:
        seq: the last row's, 0 if there is none.
        mac: the last row's.
        seal: seals the next row.
    """

    seq: int
    mac: bytes | None
    seal: Seal


@dataclass(slots=True)
class News:
    """What a commit tells this process.

    Attributes:
        events: what was stored of runs, in order.
        audited: whether audit rows were added.
    """

    events: list[Event] = field(default_factory=list)
    audited: bool = False

    def add(self, later: News) -> None:
        """Add a later commit's."""
        self.events += later.events
        self.audited |= later.audited


@dataclass(slots=True)
class Transaction(News):
    """What an operation works with, inside ``BEGIN IMMEDIATE``; becomes news once committed.

    Attributes:
        head: the audit log's end, once somebody needed it.
    """

    connection: Connection = field(kw_only=True)
    head: Head | None = None


Operation = Callable[[Transaction], Any]


class Transactor:
    """Runs operations on the one connection that writes.

    Attributes:
        held_by: the process that kept the gate when the last transaction could not begin.
        watched: whether somebody wants to know of other processes' commits.
        changed: True once another connection has committed; whoever reads it resets it.
        tick: raised before and after each of our commits: odd while one is under way.
    """

    def __init__(self, database: Writable, synchronous: Synchronous) -> None:
        self._database = database
        self._connection = database.connection
        self._synchronous = synchronous
        self._full: bool | None = None
        self._version = data_version(self._connection)
        self.held_by: int | None = None
        self.watched = False
        self.changed = False
        self.tick = 0

    def run(self, operations: Sequence[Operation], *, durable: bool) -> tuple[list[Any], News]:
        """Commit the operations together; return their values and what to tell of it."""
        gate = self._database.gate
        entered = gate.enter()
        self.tick += 1
        try:
            return self._run(operations, durable=durable)
        except BaseException:
            self.held_by = None if entered else gate.holder()
            raise
        finally:
            self.tick += 1
            if entered:
                gate.leave()

    def check(self) -> None:
        """Raise GuardBroken if the files are no longer those that were opened."""
        self._database.guard.check()

    def look(self) -> None:
        """Find out whether another connection has committed since we last looked."""
        version = data_version(self._connection)
        if version != self._version:
            self._version = version
            self.changed = True

    def close(self) -> None:
        """Move the write-ahead log into the database, as far as readers let us; let go."""
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            self._database.close()

    def _run(self, operations: Sequence[Operation], *, durable: bool) -> tuple[list[Any], News]:
        self._choose(full=durable if self._synchronous == "auto" else self._synchronous == "full")
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            if self.watched:
                self.look()
            transaction = Transaction(connection=self._connection)
            values = [operation(transaction) for operation in operations]
            execute("COMMIT")
        except BaseException:
            rollback(self._connection)
            raise
        # Nothing is acknowledged that went to a removed file.
        self.check()
        return values, transaction

    def _choose(self, *, full: bool) -> None:
        if full != self._full:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full
