"""The only path to the wire: gates, hand-over, answer, one row.

The order is fixed: scheme, host, message → signal → addresses → signal → secret →
audit → signal → inject and hand over, without a wait in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.config import AllowList, parse_address
from core.errors import RequestRefused
from core.http import _gates as gates
from core.http._bounds import Phase
from core.http._call import Call, Plan, Wiring
from core.http._messages import Request
from core.http._outcomes import Ending
from core.http._pin import make_pin
from core.http._ports import CancellationSignal
from core.http._seam import WireRequest
from core.http._url import Url, check_url, split_url
from core.vault import Secret


@asynccontextmanager
async def exchange(
    wiring: Wiring,
    plan: Plan,
    request: Request,
    signal: CancellationSignal | None,
    *,
    streaming: bool,
) -> AsyncIterator[Call]:
    """Open a call, and leave exactly one row for it, however the block is left.

    Raises:
        HttpError: refused, stopped, timed out or failed.
        SecretUnavailable: the vault's own exception, as it is.
        AuditUnavailable: nothing was sent; ``UnrecordedCall``: it was, without a row.
    """
    call = Call(wiring, plan, request, signal, streaming=streaming)
    failure: BaseException | None = None
    try:
        await _open(call)
        yield call
    except asyncio.CancelledError as error:
        failure = error
        call.stop()
        raise
    except BaseException as error:
        failure = error
        raise
    finally:
        try:
            call.close()
        finally:
            await call.recorded(failure)


async def _open(call: Call) -> None:
    try:
        url, literal = _pass_gates(call)
        call.listen()
        call.checkpoint()
        addresses = await _vet(call, url, literal)
        call.checkpoint()
        secret = await _read_secret(call)
        _check_audit(call)
        call.checkpoint()
        _hand_over(call, url, literal, addresses, secret)
        del secret
        await call.answered()
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
    gates.check_message(call.request, plan.credential)
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


async def _read_secret(call: Call) -> Secret | None:
    credential, secrets = call.plan.credential, call.wiring.secrets
    if credential is None or secrets is None:
        return None
    call.secret_read = True
    try:
        return await call.unless_settled(secrets.read(credential.name))
    except Exception:
        call.settle(Ending.SECRET_UNAVAILABLE)
        raise


def _check_audit(call: Call) -> None:
    try:
        call.wiring.audit.check()
    except Exception:
        call.settle(Ending.AUDIT_UNAVAILABLE)
        raise


def _hand_over(
    call: Call, url: Url, literal: bool, addresses: tuple[str, ...], secret: Secret | None
) -> None:
    request, credential, wiring = call.request, call.plan.credential, call.wiring
    try:
        headers = gates.wire_headers(request, credential, secret)
    except Exception:
        call.settle(Ending.SECRET_UNAVAILABLE)
        raise
    run_id = call.plan.context.run_id
    if run_id is not None and call.plan.run_id_to == f"{url.bracketed_host}:{url.port}":
        headers = (*headers, ("X-Run-Id", run_id))
    wire = WireRequest(request.method, url, headers, request.body)
    partition = "" if credential is None else credential.name
    pin = make_pin(wiring.policy.name, partition, addresses, literal=literal)
    belt = call.plan.bounds.belt(call.watchdog.elapsed())
    call.watchdog.enter(Phase.CONNECT)
    call.handed_over = True
    try:
        call.transfer = wiring.transport.start(wire, pin, belt, call)
    except Exception:
        call.settle(Ending.TRANSPORT_UNUSABLE)
        raise
