"""What the audit pane asks of the log; ``runtime.audit`` is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from core import AuditQuery
from core.model import AuditAction, AuditRow


class Finding(Protocol):
    """One bad row of a verification."""

    @property
    def reason(self) -> str:
        """Return what is wrong with it."""

    @property
    def seq(self) -> int:
        """Return where it is."""


class Verification(Protocol):
    """The outcome of checking the whole chain."""

    @property
    def ok(self) -> bool:
        """Return whether nothing is wrong."""

    @property
    def rows(self) -> int:
        """Return how many rows were read."""

    @property
    def findings(self) -> Sequence[Finding]:
        """Return what is wrong, in order."""


class AuditSource(Protocol):
    """The audit log, read only."""

    async def page(
        self, query: AuditQuery, *, before: int | None = None, skip: int = 0, limit: int = 100
    ) -> list[AuditRow]:
        """Return rows newest first, below the seq ``before``, after skipping ``skip``."""

    async def counts(self) -> Mapping[AuditAction, int]:
        """Return how many rows each action has."""

    async def count(self, query: AuditQuery) -> int:
        """Return how many rows a query has."""

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on the loop when rows may have been added; return the unsubscriber."""

    def verify(self) -> Verification:
        """Check the whole chain. Blocks: call it in a thread."""
