"""What an HTTP client is plugged into, as a test holds it in its hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from core.config import Placement
from core.errors import AuditUnavailable, SecretUnavailable
from core.model import AuditEntry
from core.vault import Credential, Secret


class MemoryAudit:
    """A ``core.http.AuditSink`` that keeps rows in a list.

    ``down`` makes ``begin`` fail; ``broken`` makes ``append`` fail; between ``hold``
    and ``release`` an append waits, between ``hold_intents`` and ``release`` an intent.

    Attributes:
        intents: what began and has no row yet, by call id.
        begun: every intent there was.
    """

    def __init__(self) -> None:
        self.rows: list[AuditEntry] = []
        self.down = False
        self.broken = False
        self.appending = asyncio.Event()
        self.beginning = asyncio.Event()
        self.intents: dict[str | None, AuditEntry] = {}
        self.begun: list[AuditEntry] = []
        self._gate: asyncio.Event | None = None
        self._intent_gate: asyncio.Event | None = None

    async def begin(self, entry: AuditEntry) -> None:
        self.beginning.set()
        if self._intent_gate is not None:
            await self._intent_gate.wait()
        if self.down:
            raise AuditUnavailable("the log is down")
        self.begun.append(entry)
        if all(row.call_id != entry.call_id for row in self.rows):
            self.intents[entry.call_id] = entry

    async def append(self, entry: AuditEntry) -> None:
        self.appending.set()
        if self._gate is not None:
            await self._gate.wait()
        if self.broken:
            raise AuditUnavailable("the log is down")
        self.rows.append(entry)
        self.intents.pop(entry.call_id, None)

    def hold(self) -> None:
        self._gate = asyncio.Event()

    def hold_intents(self) -> None:
        self._intent_gate = asyncio.Event()

    def release(self) -> None:
        for gate in (self._gate, self._intent_gate):
            if gate is not None:
                gate.set()

    @property
    def only(self) -> AuditEntry:
        """The one row there is."""
        assert len(self.rows) == 1, self.rows
        return self.rows[0]


class FakeVault:
    """A ``core.http.SecretReader``; ``hold`` and ``release`` as in ``MemoryAudit``."""

    def __init__(self, **values: str) -> None:
        self._values = values
        self._gate: asyncio.Event | None = None
        self.reads: list[str] = []
        self.rotated: list[tuple[str, str]] = []
        self.refuses_rotation = False
        self.reading = asyncio.Event()
        self.on_read: Callable[[], None] = lambda: None

    async def rotate(self, name: str, value: str, *, actor: str) -> None:
        if self.refuses_rotation:
            raise SecretUnavailable("locked", where=name)
        self.rotated.append((name, value))
        self._values[name] = value

    async def read(self, name: str, *, host: str, port: int) -> Secret:
        self.reads.append(name)
        self.reading.set()
        self.on_read()
        if self._gate is not None:
            await self._gate.wait()
        if name not in self._values:
            raise SecretUnavailable("no such secret", where=name)
        return Secret(self._values[name])

    def hold(self) -> None:
        self._gate = asyncio.Event()

    def release(self) -> None:
        if self._gate is not None:
            self._gate.set()


@dataclass(frozen=True)
class FakeCredential(Credential):
    """A credential whose secret ``FakeVault(key=…)`` holds."""

    name: str = "key"
    placement: Placement = "bearer"
    field: str = "Authorization"
    hosts: tuple[str, ...] = ()


class CountingIds:
    """A ``core.ids.Ids`` that counts."""

    def __init__(self) -> None:
        self._next = count(1)

    def run(self) -> str:
        return f"run-{next(self._next)}"

    def call(self) -> str:
        return f"call-{next(self._next)}"
