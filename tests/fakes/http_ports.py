"""What an HTTP client is plugged into, as a test holds it in its hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from core.errors import AuditUnavailable, SecretUnavailable
from core.model import AuditEntry
from core.model.secrets import Placement
from core.vault import Credential, Secret


class MemoryAudit:
    """A ``core.http.AuditSink`` that keeps rows in a list.

    ``down`` makes ``check`` fail; ``broken`` makes ``append`` fail; between ``hold``
    and ``release`` an append waits.
    """

    def __init__(self) -> None:
        self.rows: list[AuditEntry] = []
        self.down = False
        self.broken = False
        self.appending = asyncio.Event()
        self._gate: asyncio.Event | None = None

    def check(self) -> None:
        if self.down:
            raise AuditUnavailable("the log is down")

    async def append(self, entry: AuditEntry) -> None:
        self.appending.set()
        if self._gate is not None:
            await self._gate.wait()
        if self.broken:
            raise AuditUnavailable("the log is down")
        self.rows.append(entry)

    def hold(self) -> None:
        self._gate = asyncio.Event()

    def release(self) -> None:
        if self._gate is not None:
            self._gate.set()

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
        self.reading = asyncio.Event()
        self.on_read: Callable[[], None] = lambda: None

    async def read(self, name: str) -> Secret:
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
    header: str = "X-API-Key"
    hosts: tuple[str, ...] = ()


class CountingIds:
    """A ``core.ids.Ids`` that counts."""

    def __init__(self) -> None:
        self._next = count(1)

    def run(self) -> str:
        return f"run-{next(self._next)}"

    def call(self) -> str:
        return f"call-{next(self._next)}"
