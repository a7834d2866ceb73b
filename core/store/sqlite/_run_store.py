"""Runs and their events in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.errors import UnknownRun
from core.model.events import Event, Started
from core.model.receipts import CancelReceipt
from core.model.runs import RunRow
from core.model.words import CancelLevel
from core.store.protocol import Claim, Commit, Committed
from core.store.sqlite import _commit, _events, _rows, _runs
from core.store.sqlite._base import Base
from core.store.sqlite._transact import Transaction
from core.text import storable


class SqliteRuns(Base):
    """A ``RunStore``.

    Attributes:
        intents_allowed: the fence, as SQL on the run's row: when intents are stored.
    """

    intents_allowed = "status = 'running'"

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
        statement = _commit.boundary(self.intents_allowed)
        boundary = _commit.Boundary(commit, statement, self._clock.now_us())
        return await self._write(boundary, durable=boundary.durable)

    async def cancel(
        self, run_id: str, *, level: CancelLevel, by: str, reason: str, at_us: int
    ) -> CancelReceipt:
        """Win the row: mark it cancelled, or raise its level, durably."""
        sealing = self._sealing
        run_id = storable(run_id)

        def cancel(transaction: Transaction) -> CancelReceipt | None:
            return _runs.cancel(
                transaction, sealing, run_id=run_id, level=level, by=by, reason=reason, at_us=at_us
            )

        receipt = await self._write(cancel, durable=True)
        if receipt is None:
            raise UnknownRun(run_id)
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
        return self._subscribers.add(callback)

    def watch(
        self, callback: Callable[[], None], *, closely: Callable[[], bool] = lambda: True
    ) -> Callable[[], None]:
        """Call back on the loop soon after another process may have changed the store."""
        return self._watch.add(callback, closely)
