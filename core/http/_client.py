"""The client that attaches secrets, and accounts for every call."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import TracebackType

from core.clock import Clock
from core.config import AllowList
from core.errors import UsageError
from core.http._addresses import AddressPolicy
from core.http._bounds import Bounds
from core.http._call import Call, Plan, Wiring
from core.http._context import CallContext
from core.http._exchange import exchange
from core.http._messages import Request, Response
from core.http._oauth import TokenSource
from core.http._ports import AuditSink, CancellationSignal, Resolver, SecretReader
from core.http._rows import RowKeeper
from core.http._seam import Transport
from core.http._stream import ResponseStream
from core.ids import Ids
from core.text import KnownSecrets
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
        known: learns the access tokens that are asked for, so that others can mask them.

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
        known: KnownSecrets | None = None,
    ) -> None:
        wiring = Wiring(
            transport=transport,
            # Asked once: what a transport claims later changes no call under way.
            abortable=transport.supports_abort,
            resolver=resolver,
            policy=policy,
            secrets=secrets,
            clock=clock,
            ids=ids,
            rows=RowKeeper(audit, clock),
            tokens=TokenSource(known or KnownSecrets()),
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
            OAuthFailed: no access token could be had; the request was not sent.
            TransportFailed: the answer did not arrive whole.
            AuditUnavailable: the log takes no rows; nothing was sent.
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
        return _Streaming(exchange(self._wiring, self._plan, request, signal, streaming=True))

    @property
    def supports_cancellation(self) -> bool:
        """Whether a signal ends a call in flight; before the send it always does."""
        return self._wiring.abortable

    @property
    def credential_field(self) -> str | None:
        """The header, parameter or body field that the credential travels in, if there is one."""
        return None if self._plan.credential is None else self._plan.credential.field

    @property
    def bounds(self) -> Bounds:
        """The limits of each call."""
        return self._plan.bounds

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
        async with exchange(self._wiring, self._plan, request, signal, streaming=False) as call:
            body = await call.read_all()
            return Response(call.status, call.headers, body)


class _Streaming(AbstractAsyncContextManager[ResponseStream]):
    """A call whose body is read inside the block; nothing else of it can be reached."""

    __slots__ = ("_exchange",)

    def __init__(self, exchange: AbstractAsyncContextManager[Call]) -> None:
        self._exchange = exchange

    async def __aenter__(self) -> ResponseStream:
        return ResponseStream(await self._exchange.__aenter__())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._exchange.__aexit__(kind, error, trace)
