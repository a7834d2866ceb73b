"""The only path to the wire: gates, hand-over, answer, one row.

The order is fixed: scheme, host, message → signal → addresses → signal → secrets →
intent → signal → inject and hand over, without a wait in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.config import AllowList, OAuthEntry, parse_address
from core.errors import AuditUnavailable, OAuthFailed, RequestRefused, SecretUnavailable
from core.http import _gates as gates
from core.http._bounds import Phase, belt_above
from core.http._call import Call, Plan, Wiring
from core.http._entries import entry_of
from core.http._messages import Request
from core.http._outcomes import Ending
from core.http._pin import make_pin
from core.http._placements import Placed, check_room, place, secrets_of
from core.http._ports import CancellationSignal
from core.http._seam import WireRequest
from core.http._url import Url, check_url, split_url
from core.vault import Credential, Secret


@asynccontextmanager
async def exchange(
    wiring: Wiring,
    plan: Plan,
    request: Request,
    signal: CancellationSignal | None,
    *,
    streaming: bool,
    outer: Call | None = None,
) -> AsyncIterator[Call]:
    """Open a call, and leave exactly one row for it, however the block is left.

    Args:
        wiring: what the client shares with its clones.
        plan: what it does not.
        request: what is asked.
        signal: ends it.
        streaming: whether the body is read while it arrives.
        outer: the call that waits for this one, and ends it with itself.

    Raises:
        HttpError: refused, stopped, timed out or failed.
        SecretUnavailable: the vault's own exception, as it is.
        AuditUnavailable: nothing was sent.
    """
    call = Call(wiring, plan, request, signal, streaming=streaming)
    if outer is not None:
        outer.inner = call
    try:
        await _open(call)
        yield call
    except asyncio.CancelledError:
        call.stop()
        raise
    finally:
        try:
            call.close()
        finally:
            await call.recorded()


async def _open(call: Call) -> None:
    try:
        url, literal = _pass_gates(call)
        call.listen()
        call.checkpoint()
        addresses = await _vet(call, url, literal)
        call.checkpoint()
        secrets = await _read_secrets(call, url)
        await _declare(call)
        call.checkpoint()
        _hand_over(call, url, literal, addresses, secrets)
        await call.answered()
        _heed_refusal(call, secrets)
        secrets.clear()
    except asyncio.CancelledError:
        raise
    except RequestRefused as refused:
        call.settle(Ending.of_refusal(refused))
        raise
    except BaseException:
        call.settle(Ending.UNEXPECTED_ERROR)
        raise


def _pass_gates(call: Call) -> tuple[Url, bool]:
    plan = call.plan
    call.url = url = split_url(call.request.url)
    bound_to = () if plan.credential is None else plan.credential.hosts
    allow = AllowList.of((*plan.allow, *bound_to))
    check_url(url, allow, call.wiring.policy)
    gates.check_host(url, plan.credential)
    gates.check_tool(plan.context, plan.credential)
    gates.check_message(call.request)
    if plan.credential is not None:
        check_room(call.request, url, plan.credential)
    return url, allow.names(url.host, url.port)


async def _vet(call: Call, url: Url, literal: bool) -> tuple[str, ...]:
    if parse_address(url.host) is not None:
        return (url.host,)
    call.watchdog.enter(Phase.LOOKUP)
    try:
        found = await call.unless_settled(call.wiring.resolver.resolve(url.host))
    except OSError:
        raise Ending.HOST_UNRESOLVED.error(where=url.host) from None
    call.watchdog.enter(Phase.GATES)
    parsed = [parse_address(text) for text in found]
    addresses = tuple(dict.fromkeys(str(one) for one in parsed if one is not None))
    if not addresses:
        raise Ending.HOST_UNRESOLVED.error(where=url.host)
    # One refused address condemns the answer: a mixed one is how rebinding looks.
    if not all(call.wiring.policy.allows(one, literal=literal) for one in addresses):
        raise Ending.ADDRESS_NOT_ALLOWED.error(where=url.host)
    return addresses


async def _read_secrets(call: Call, url: Url) -> dict[str, Secret]:
    credential, reader = call.plan.credential, call.wiring.secrets
    if credential is None or reader is None:
        return {}
    call.secret_read = True
    found: dict[str, Secret] = {}
    try:
        _check_expiry(call, credential)
        for name in secrets_of(credential):
            read = reader.read(name, host=url.host, port=url.port)
            found[name] = await call.unless_settled(read)
        if credential.oauth is not None:
            found[credential.name] = await _token(call, credential, credential.oauth)
    except OAuthFailed:
        call.settle(Ending.TOKEN_UNAVAILABLE)
        raise
    except AuditUnavailable:
        call.settle(Ending.AUDIT_UNAVAILABLE)
        raise
    except Exception:
        call.settle(Ending.SECRET_UNAVAILABLE)
        raise
    return found


def _check_expiry(call: Call, credential: Credential) -> None:
    if credential.expires_us is not None and credential.expires_us <= call.wiring.clock.now_us():
        raise SecretUnavailable(
            "The credential has expired",
            code="secret_expired",
            where=credential.name,
            hint="Set a new secret, and 'expires' in the configuration.",
        )


async def _token(call: Call, credential: Credential, oauth: OAuthEntry) -> Secret:
    work = call.wiring.tokens.token(call, credential.name, oauth)
    token, asked = await call.unless_settled(work)
    call.inner = None
    if asked:
        # The call itself is another round trip.
        await call.unless_settled(call.fence())
    return token


async def _declare(call: Call) -> None:
    try:
        intent = entry_of(call, None, call.wiring.clock.now_us())
        await call.unless_settled(call.wiring.rows.audit.begin(intent))
    except AuditUnavailable:
        call.settle(Ending.AUDIT_UNAVAILABLE)
        raise


def _hand_over(
    call: Call, url: Url, literal: bool, addresses: tuple[str, ...], secrets: dict[str, Secret]
) -> None:
    request, credential, wiring = call.request, call.plan.credential, call.wiring
    placed = Placed(url, request.headers, request.body)
    if credential is not None:
        try:
            placed = place(request, url, credential, secrets)
        except Exception:
            call.settle(Ending.SECRET_UNAVAILABLE)
            raise
    headers = gates.with_defaults(placed.headers)
    run_id = call.plan.context.run_id
    if run_id is not None and call.plan.run_id_to == f"{url.bracketed_host}:{url.port}":
        headers = (*headers, ("X-Run-Id", run_id))
    wire = WireRequest(request.method, placed.url, headers, placed.body)
    partition = "" if credential is None else credential.name
    pin = make_pin(wiring.policy.name, partition, addresses, literal=literal)
    belt = belt_above(call.plan.bounds, call.watchdog.elapsed())
    call.watchdog.enter(Phase.CONNECT)
    call.handed_over = True
    try:
        call.take(wiring.transport.start(wire, pin, belt, call))
    except Exception:
        call.settle(Ending.TRANSPORT_UNUSABLE)
        raise


def _heed_refusal(call: Call, secrets: dict[str, Secret]) -> None:
    credential = call.plan.credential
    if call.status == 401 and credential is not None and credential.oauth is not None:
        token = secrets[credential.name]
        call.wiring.tokens.forget(credential.name, credential.oauth, token)
