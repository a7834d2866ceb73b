"""The facade: what a program, a screen or a command asks of the core."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.clock import Clock
from core.errors import UnknownRun
from core.http import CallContext, VaultHttpClient
from core.model.receipts import CancelReceipt
from core.model.runs import RunRequest, RunResult, RunRow
from core.model.words import CancelLevel, Effect
from core.runs import EventStream, Hub, LiveRun, Supervisor
from core.runtime._audit import AuditView
from core.runtime._models import ModelInfo
from core.runtime._planning import Parts, masked_request, plan_of
from core.runtime._run import Run
from core.text import KnownSecrets
from core.vault import Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInfo:
    """A tool as it is listed.

    Attributes:
        name: what the model calls it by.
        description: what it does.
        effect: what running it twice would do.
        default: whether it is on offer where a request names no tools.
    """

    name: str
    description: str
    effect: Effect
    default: bool


class Runtime:
    """Runs agents on a store, and answers for their outbound calls.

    Made by :func:`core.open_runtime`.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._store = parts.store
        self._user = current_user()
        self._hub = Hub(parts.store)
        self._supervisor = Supervisor(
            store=parts.store,
            hub=self._hub,
            clock=parts.clock,
            ids=parts.ids,
            actor=self._user,
            known=parts.known,
        )

    async def open(self) -> None:
        """Begin to work: watch the store, close what dead processes left."""
        await self._supervisor.open(read_only=self._store.read_only)

    async def close(self) -> None:
        """End every run this process drives, then stop."""
        await self._supervisor.close()
        await self._parts.http.drain()
        await self._parts.demo.close()

    async def start(self, request: RunRequest) -> Run:
        """Start a run; it goes on whatever becomes of the caller.

        Raises:
            UsageError: the model, a tool, a bound or the prompt is not usable, or the runtime
                is closing.
            UnknownRun: ``request.after`` names no run.
            StoreUnavailable: nothing was started.
        """
        plan = await plan_of(request, self._parts)
        request = masked_request(request, self._parts.known)
        live = await self._supervisor.start(request, plan)
        return Run(self, live.run_id, live)

    async def run(self, request: RunRequest) -> RunResult:
        """Start a run and return how it ended; raises as :meth:`start`."""
        return await (await self.start(request)).wait()

    @asynccontextmanager
    async def attach(self, request: RunRequest) -> AsyncIterator[Run]:
        """Start a run that lives as long as the block: leaving it early cancels the run."""
        run = await self.start(request)
        try:
            yield run
        finally:
            if run.id in self.live:
                await run.cancel(reason="its block was left")
                await run.wait()

    def handle(self, run_id: str) -> Run:
        """Return a handle on any run of the store; nothing is read."""
        return Run(self, run_id, self._supervisor.find(run_id))

    async def result(self, live: LiveRun) -> RunResult:
        """Return a driven run's result once there is one; a cancelled waiter harms nothing."""
        await asyncio.wait({live.task})
        return live.executor.dropped() if live.task.cancelled() else live.task.result()

    async def cancel(
        self,
        run_id: str,
        level: CancelLevel = CancelLevel.BOUNDARY,
        *,
        by: str | None = None,
        reason: str = "",
    ) -> CancelReceipt:
        """Stop a run, whichever process drives it.

        Args:
            run_id: the run.
            level: BOUNDARY lets the steps in flight end; ABORT cuts them.
            by: who asks; None: the user of the operating system.
            reason: why, in their words.

        Returns:
            What was done: after it nothing starts but what ``in_flight`` lists.

        Raises:
            UnknownRun: there is no such run.
            StoreUnavailable: another process's run, and the store does not answer.
        """
        return await self._supervisor.cancel(
            run_id, level=level, by=by or self._user, reason=reason
        )

    async def status(self, run_id: str) -> RunRow:
        """Return a run's row.

        Raises:
            UnknownRun: there is no such run.
        """
        row = await self._store.get_run(run_id)
        if row is None:
            raise UnknownRun(run_id)
        return row

    def events(self, run_id: str, after: int = -1) -> EventStream:
        """Return a run's events: replay from ``after``, then live."""
        return self._hub.follow(run_id, after=after)

    async def runs(self, *, limit: int = 100, before: str | None = None) -> list[RunRow]:
        """Return runs, newest first; ``before`` is the last id of the page before."""
        return await self._store.list_runs(limit=limit, before=before)

    def http(self, credential: str | None = None) -> VaultHttpClient:
        """Return a client for calls of the embedding program; each leaves an audit row.

        Args:
            credential: the secret that is attached, by name; None: none.

        Raises:
            SecretUnavailable: this process knows no such secret.
        """
        client = self._parts.http.with_context(CallContext(actor=self._user))
        if credential is None:
            return client
        return client.with_credential(self._parts.models.known_credential(credential))

    def models(self) -> list[ModelInfo]:
        """Return every model entry."""
        return self._parts.models.all()

    def tools(self) -> list[ToolInfo]:
        """Return every tool."""
        default = self._parts.default_tools
        return [
            ToolInfo(
                name=tool.name,
                description=tool.description,
                effect=tool.effect,
                default=tool.name in default,
            )
            for tool in self._parts.tools
        ]

    @property
    def live(self) -> tuple[str, ...]:
        """Return the runs this process drives, oldest first."""
        return self._supervisor.live

    @property
    def audit(self) -> AuditView:
        """Return the audit log, for reading."""
        return self._parts.audit

    @property
    def secrets(self) -> Vault:
        """Return the vault."""
        return self._parts.vault

    @property
    def known(self) -> KnownSecrets:
        """Return the secrets to mask in whatever is shown of this runtime's work."""
        return self._parts.known

    @property
    def clock(self) -> Clock:
        """Return the clock this runtime lives by."""
        return self._parts.clock

    @property
    def user(self) -> str:
        """Return the name that stands for this process's user."""
        return self._user

    @property
    def notices(self) -> tuple[str, ...]:
        """Return what a person should know about this store, a sentence each."""
        return self._parts.notices


def current_user() -> str:
    """Return the name of the operating system's user, ``unknown`` where it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
