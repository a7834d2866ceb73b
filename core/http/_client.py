"""The client that attaches secrets, and accounts for every call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from core.clock import Clock
from core.config import AllowList
from core.errors import UsageError
from core.http._addresses import AddressPolicy
from core.http._bounds import Bounds
from core.http._call import Plan, Wiring
from core.http._context import CallContext
from core.http._exchange import exchange
from core.http._messages import Request, Response
from core.http._outcomes import UnrecordedCall
from core.http._ports import AuditSink, CancellationSignal, Resolver, SecretReader
from core.http._rows import RowKeeper
from core.http._seam import Transport
from core.http._stream import ResponseStream
from core.ids import Ids
from core.vault import Credential


class VaultHttpClient:
    """Sends requests through every gate, with or without a credential.

    Each call leaves exactly one audit row. A client is immutable: the ``with_``
    methods return clones that keep transport, policy and audit.

    Args:
        transport: what moves the bytes; it is never swapped.
        resolver: names to addresses.
        policy: which addresses a call may connect to.
        audit: where rows go.
        secrets: the vault; needed for a credential.
        clock: for bounds and times.
        ids: for call ids.
        credential: which secret is attached, and where; or None.
        allow: entries ``host``, ``host:port``, ``*.suffix``; empty means no list.
            The credential's hosts count as listed, and a call with a bound
            credential goes to those only.
        context: on whose behalf; collects the calls.
        bounds: limits of each call.

    Raises:
        ConfigError: an allow entry is malformed.
        UsageError: a credential without ``secrets``.
    """

    def __init__(
        self,
        *,
        transport: Transport,
        resolver: Resolver,
        policy: AddressPolicy,
        audit: AuditSink,
        clock: Clock,
        ids: Ids,
        secrets: SecretReader | None = None,
        credential: Credential | None = None,
        allow: tuple[str, ...] = (),
        context: CallContext | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        wiring = Wiring(
            transport=transport,
            resolver=resolver,
            policy=policy,
            audit=audit,
            secrets=secrets,
            clock=clock,
            ids=ids,
            rows=RowKeeper(),
        )
        plan = Plan(
            credential=credential,
            allow=tuple(allow),
            context=context or CallContext(),
            bounds=bounds or Bounds(),
        )
        self._take(wiring, plan)

    async def send(self, request: Request) -> Response:
        """Send ``request`` and return the whole answer, of any status.

        Raises:
            RequestRefused: a gate refused it; nothing was sent.
            SecretUnavailable: the credential's secret could not be had; nothing was sent.
            RequestTimeout: a bound ran out.
            TransportFailed: the answer did not arrive whole.
            AuditUnavailable: nothing was sent; or, as ``UnrecordedCall``, it was
                sent and its row could not be written.
        """
        return await self._send(request, None)

    async def send_cancellable(self, request: Request, signal: CancellationSignal) -> Response:
        """Send ``request``; a raised ``signal`` ends it at once.

        When ``signal.set()`` returns on the loop's thread, the connection is closed.

        Raises:
            RequestCancelled: the signal was raised; otherwise as ``send``.
        """
        return await self._send(request, signal)

    def stream(
        self, request: Request, signal: CancellationSignal | None = None
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Send ``request`` and read the body while it arrives.

        The row is written when the body ends: whole, stopped, closed early or cut.
        Entering the block raises as ``send_cancellable``; so does reading.
        """
        return self._stream(request, signal)

    @property
    def supports_cancellation(self) -> bool:
        """Whether a signal ends a call in flight; before the send it always does."""
        return self._wiring.transport.supports_abort

    def with_context(self, context: CallContext) -> VaultHttpClient:
        """Return a clone that calls on behalf of ``context``."""
        return self._clone(replace(self._plan, context=context))

    def with_bounds(self, bounds: Bounds) -> VaultHttpClient:
        """Return a clone with other limits."""
        return self._clone(replace(self._plan, bounds=bounds))

    def with_timeout(self, seconds: float | None) -> VaultHttpClient:
        """Return a clone with another total limit."""
        return self.with_bounds(replace(self._plan.bounds, total=seconds))

    def with_credential(self, credential: Credential | None) -> VaultHttpClient:
        """Return a clone that attaches ``credential``, or none."""
        return self._clone(replace(self._plan, credential=credential))

    def with_allow(self, allow: tuple[str, ...]) -> VaultHttpClient:
        """Return a clone with another allow list."""
        return self._clone(replace(self._plan, allow=tuple(allow)))

    def with_run_id_to(self, address: str) -> VaultHttpClient:
        """Return a clone that tells ``address`` alone the run's id, in ``X-Run-Id``.

        Args:
            address: ``host:port``.
        """
        return self._clone(replace(self._plan, run_id_to=address))

    async def drain(self) -> None:
        """Wait until every row of this client and its clones has been written."""
        await self._wiring.rows.drain()

    def __repr__(self) -> str:
        name = None if self._plan.credential is None else self._plan.credential.name
        return f"VaultHttpClient(credential={name!r})"

    def _take(self, wiring: Wiring, plan: Plan) -> None:
        if plan.credential is not None:
            if wiring.secrets is None:
                raise UsageError("A client with a credential needs a vault to read it from")
            AllowList.of(plan.credential.hosts)
        AllowList.of(plan.allow)
        self._wiring = wiring
        self._plan = plan

    def _clone(self, plan: Plan) -> VaultHttpClient:
        clone = object.__new__(type(self))
        clone._take(self._wiring, plan)
        return clone

    async def _send(self, request: Request, signal: CancellationSignal | None) -> Response:
        response: Response | None = None
        try:
            async with exchange(self._wiring, self._plan, request, signal, streaming=False) as call:
                body = await call.read_all()
                response = Response(call.status, call.headers, body)
        except UnrecordedCall as unrecorded:
            unrecorded.response = response
            raise
        return response

    @asynccontextmanager
    async def _stream(
        self, request: Request, signal: CancellationSignal | None
    ) -> AsyncIterator[ResponseStream]:
        async with exchange(self._wiring, self._plan, request, signal, streaming=True) as call:
            yield ResponseStream(call)
