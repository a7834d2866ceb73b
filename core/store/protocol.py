"""What the runtime asks of a store. Each method is one transaction.

SQLite passes it now, an in-memory store in the tests, PostgreSQL later: one contract
suite runs on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from core.model.audit import AuditEntry, AuditRow
from core.model.events import Cancelled, Completed, Event, Failed, Started
from core.model.receipts import CancelReceipt, InFlight
from core.model.runs import RunRow
from core.model.secrets import ChainKeyRecord, SecretRecord
from core.model.words import AuditAction, CancelLevel


class Verdict(StrEnum):
    """What a commit says about going on.

    ``GO``: everything was stored. ``STOP`` and ``ABORT``: the run is being cancelled at
    that level; the outcomes were stored, nothing was started. ``LOST``: the claim is
    gone, nothing was stored.
    """

    GO = "go"
    STOP = "stop"
    ABORT = "abort"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to append to a run. A take-over raises ``number``."""

    run_id: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelFacts:
    """Who asked a run to stop, as its row says.

    Attributes:
        at_us: UTC microseconds of the first request.
        seq: the seq of the first ``cancel_requested`` event.
    """

    at_us: int
    by: str
    reason: str
    level: CancelLevel
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One boundary of a run, stored in one transaction.

    Attributes:
        claim: whose boundary; if it is no longer held nothing is stored.
        outcomes: events stored even if the run is being cancelled.
        intents: events stored only if nobody cancelled.
        close: the terminal event. ``Completed`` and ``Failed`` are stored only if nobody
            cancelled; ``Cancelled`` only if somebody did, at exactly the level its receipt
            names. Never together with intents.
        open_steps: steps open once the outcomes are stored.
        opened_steps: steps open once the intents are stored too.
        round: the round the run is in.
        tool_calls: tool calls executed by these outcomes.
        durable: whether it must survive a power cut once it is acknowledged.
        replay_from: None for a first try. Else the first seq that an earlier try of the
            same commit may have taken: what that try stored is not stored again.
    """

    claim: Claim
    outcomes: tuple[Event, ...] = ()
    intents: tuple[Event, ...] = ()
    close: Completed | Failed | Cancelled | None = None
    open_steps: tuple[InFlight, ...] = ()
    opened_steps: tuple[InFlight, ...] = ()
    round: int = 0
    tool_calls: int = 0
    durable: bool = False
    replay_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What became of a commit.

    Attributes:
        verdict: whether to go on.
        events: what was stored, with its seq, in order.
        next_seq: the seq the run's next event gets.
        cancel: who asked for the stop, if somebody did.
        closed: whether the terminal event was stored.
    """

    verdict: Verdict
    events: tuple[Event, ...] = ()
    next_seq: int = 0
    cancel: CancelFacts | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which audit rows. Empty fields do not filter.

    Attributes:
        actions: any of these.
        run_id: of this run.
        since_us: at or after, UTC microseconds.
        until_us: before, UTC microseconds.
    """

    actions: tuple[AuditAction, ...] = ()
    run_id: str | None = None
    since_us: int | None = None
    until_us: int | None = None


class Seal(Protocol):
    """Turns an entry into the chain's next row (``core.audit`` provides it)."""

    def __call__(self, previous: bytes | None, seq: int, entry: AuditEntry) -> AuditRow:
        """Return the sealed row; ``previous`` is the last row's mac, None for the first."""


class Sealer(Protocol):
    """Gives a database's log its ``Seal`` when the store opens."""

    def __call__(self, database_id: str, sealed_by: str | None, /) -> Seal:
        """Return the seal.

        Args:
            database_id: the database.
            sealed_by: the key in use there: the key id of the newest row that no retired key
                sealed, None if there is no row. Asked again, in the writer's thread, when
                another process has rotated the key.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotation:
    """Everything that is encrypted under the master key, under another one.

    Attributes:
        before: the key id that all of it was encrypted under.
        secrets: every secret, re-wrapped; versions stay.
        chain_keys: every retired chain key, the newest one among them.
        entry: the audit row, sealed by ``seal``.
        seal: the new chain key's; this store seals with it from then on.
    """

    before: str
    secrets: tuple[SecretRecord, ...]
    chain_keys: tuple[ChainKeyRecord, ...]
    entry: AuditEntry
    seal: Seal


class RunStore(Protocol):
    """Runs and their events."""

    @property
    def owner(self) -> str:
        """Return this process's name in ``RunRow.owner``: ``<pid>-<random>``."""

    async def create_run(self, row: RunRow, started: Started) -> Claim:
        """Insert a running run that this process owns, with its first event.

        Creating the same run again changes nothing and returns the same claim.
        """

    async def commit(self, commit: Commit) -> Committed:
        """Store a boundary.

        Raises:
            StoreUnavailable: it may or may not have been stored; repeat it with
                ``replay_from``.
        """

    async def cancel(
        self, run_id: str, *, level: CancelLevel, by: str, reason: str, at_us: int
    ) -> CancelReceipt:
        """Win the row: mark it cancelled, or raise its level, durably.

        Appends ``cancel_requested`` to the run and ``run_cancel_requested`` to the audit
        log in the same transaction. A run that nobody owns is closed in it too. On a
        closed run, or at a level already in force, nothing changes and ``why`` says so.

        Raises:
            UnknownRun: there is no such run.
            StoreUnavailable: it may or may not have been stored; repeating is harmless.
        """

    async def take_over(self, row: RunRow) -> Claim | None:
        """Claim a run of a dead process; None if its owner lives or somebody was faster.

        Whoever can take the owner's lock file knows that the owner is dead.
        """

    async def unclosed_runs(self) -> list[RunRow]:
        """Return every run that is running, or cancelled and not closed."""

    async def get_run(self, run_id: str) -> RunRow | None:
        """Return one run, None if there is none."""

    async def list_runs(self, *, limit: int, before: str | None = None) -> list[RunRow]:
        """Return runs, newest first; ``before`` is the last run id of the page before."""

    async def read_events(self, run_id: str, *, after: int, limit: int) -> list[Event]:
        """Return events with a seq above ``after``, in order, at most ``limit``."""

    def subscribe(self, callback: Callable[[Sequence[Event]], None]) -> Callable[[], None]:
        """Call back on the loop with each batch this process stored, in commit order.

        The callback runs before the writers of the batch go on. A commit that is repeated
        because its answer was lost tells its events again. Returns the unsubscriber.
        """

    def watch(
        self, callback: Callable[[], None], *, closely: Callable[[], bool] = lambda: True
    ) -> Callable[[], None]:
        """Call back on the loop soon after another process may have changed the store.

        A hint: it may come for nothing. At most 20 ms late while ``closely`` says so, at
        most a quarter of a second otherwise, so that an idle process sleeps. Returns the
        unsubscriber.
        """


class AuditStore(Protocol):
    """The audit log's rows."""

    @property
    def audit_available(self) -> bool:
        """Return False while the store is known to be down."""

    async def append_audit(self, entry: AuditEntry) -> AuditRow:
        """Seal and store a row, durably. The same ``call_id`` again returns the first row.

        Raises:
            AuditUnavailable: the store is down.
        """

    async def begin_call(self, entry: AuditEntry) -> None:
        """Write, durably, that a call is about to be handed over: its intent.

        Args:
            entry: what the call's row will say if this process dies before its end;
                ``call_id`` is set.

        The call's row, once appended, takes the intent away in its own transaction; where
        that row came first, this does nothing.

        Raises:
            AuditUnavailable: the store is down: nothing may be sent.
        """

    async def close_interrupted(self, at_us: int) -> list[AuditRow]:
        """Append the row of each call whose process died after its intent.

        Only whoever can take the dead process's lock file does so.

        Returns:
            The rows, of action ``http_call_interrupted``.

        Raises:
            AuditUnavailable: the store is down.
        """

    def watch_audit(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on the loop after this process, or perhaps another, added rows.

        Returns the unsubscriber.
        """

    async def audit_page(
        self, query: AuditQuery, *, before: int | None = None, skip: int = 0, limit: int = 100
    ) -> list[AuditRow]:
        """Return rows newest first, with a seq below ``before``, after skipping ``skip``."""

    async def audit_counts(self) -> dict[AuditAction, int]:
        """Return how many rows each action has; actions without rows are left out."""

    async def audit_count(self, query: AuditQuery) -> int:
        """Return how many rows a query has."""


class SecretStore(Protocol):
    """Encrypted secrets. Values never pass through here in clear."""

    async def put_secret(self, record: SecretRecord, entry: AuditEntry) -> bool:
        """Insert a secret, or replace its version before, with its audit row.

        False (and no row) if another version is there.
        """

    async def get_secret(self, name: str) -> SecretRecord | None:
        """Return one secret, None if there is none."""

    async def list_secrets(self) -> list[SecretRecord]:
        """Return all secrets by name."""

    async def delete_secret(self, name: str, entry: AuditEntry) -> bool:
        """Delete a secret, with its audit row; False (and no row) if there is none."""

    async def chain_keys(self) -> list[ChainKeyRecord]:
        """Return the retired keys of the log's chain."""

    async def rotate_key(self, rotation: KeyRotation) -> bool:
        """Put everything under another master key in one durable transaction.

        Returns:
            False, and nothing was changed, if a secret or a chain key is not what it was
            when the rotation was made from it.

        Raises:
            ValueError: the chain key in use until now is not among the retired ones.
        """


class Store(RunStore, AuditStore, SecretStore, Protocol):
    """A whole store."""

    @property
    def database_id(self) -> str:
        """Return the id that the database got when it was made."""

    @property
    def read_only(self) -> bool:
        """Return True for a database of a later version."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Return what a person should know about this store, a sentence each."""

    async def close(self) -> None:
        """Finish what was handed in, then let go of everything. Idempotent."""
