"""One call to a Transit server: our transport and address table, no credential, no row."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

from core.config import parse_address
from core.errors import HttpError, SecretUnavailable
from core.http import (
    AddressPolicy,
    Belt,
    CurlTransport,
    Fault,
    Pin,
    ThreadResolver,
    Url,
    WireRequest,
    parse_url,
)

WITHIN_S = 10.0
_MAX_ANSWER = 65_536
_BELT = Belt(connect_ms=6_000, total_ms=11_000)

T = TypeVar("T")


class TransitFailed(SecretUnavailable):
    """The server did not do what it was asked; its own words are not repeated."""

    def __init__(self, what: str, *, where: str, hint: str) -> None:
        super().__init__(what, code="secret_locked", where=where, hint=hint)


async def post(
    url: str, token: str, content: dict[str, str], *, ca_file: str | None
) -> dict[str, Any]:
    """Send one request and return the ``data`` of its answer.

    The server's own host and port are allowed literally, so that it may have a private
    address; metadata addresses stay refused.

    Args:
        url: the operation's URL.
        token: goes out in ``X-Vault-Token``.
        content: the body.
        ca_file: trusted certificates, None for the system's.

    Raises:
        TransitFailed: no answer within ten seconds, or another one than 200.
    """
    where = urlsplit(url).netloc
    policy = AddressPolicy()
    transport = CurlTransport(cafile=ca_file, policy=policy)
    try:
        async with asyncio.timeout(WITHIN_S):
            parsed = parse_url(url, (where,))
            pin = await _pin(parsed, policy)
            headers = (
                ("Accept-Encoding", "identity"),
                ("Content-Type", "application/json"),
                ("User-Agent", "stepbrake"),
                ("X-Vault-Request", "true"),
                ("X-Vault-Token", token),
            )
            answer = _Answer(asyncio.get_running_loop())
            request = WireRequest("POST", parsed, headers, json.dumps(content).encode())
            transfer = transport.start(request, pin, _BELT, answer)
            try:
                await answer.ended
            finally:
                transfer.abort()
    except TimeoutError:
        raise TransitFailed(
            "The Transit server did not answer in time", where=where, hint="Is it up?"
        ) from None
    except (HttpError, OSError):
        raise TransitFailed(
            "The Transit server cannot be reached",
            where=where,
            hint="Check the url in [keys], its certificate and the network.",
        ) from None
    finally:
        transport.close()
    return answer.content(where)


def blocking(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run ``work`` on a loop and a thread of its own, and wait for it."""
    ended: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            ended.append(asyncio.run(work()))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="transit", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return ended[0]


async def _pin(url: Url, policy: AddressPolicy) -> Pin:
    if parse_address(url.host) is not None:
        addresses: tuple[str, ...] = (url.host,)
    else:
        found = await ThreadResolver().resolve(url.host)
        parsed = [parse_address(text) for text in found]
        addresses = tuple(dict.fromkeys(str(one) for one in parsed if one is not None))
    if not addresses or not all(policy.allows(one, literal=True) for one in addresses):
        raise OSError("no address that may be called")
    digest = hashlib.sha256("\x00".join(("transit", *sorted(addresses))).encode()).hexdigest()
    return Pin(label=f"t{digest[:32]}.invalid", addresses=addresses, literal=True)


class _Answer:
    """A ``Sink`` that keeps a small answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.ended: asyncio.Future[None] = loop.create_future()
        self._status = 0
        self._body = bytearray()

    def connected(self) -> None:
        """The request goes out next."""

    def head(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        """The final head is there."""
        self._status = status

    def data(self, chunk: bytes) -> bool:
        """Take a piece of the body."""
        self._body += chunk
        if len(self._body) > _MAX_ANSWER:
            self._fail()
        return True

    def end(self, fault: Fault | None, number: int) -> None:
        """The transfer is over."""
        if fault is not None:
            self._fail()
        elif not self.ended.done():
            self.ended.set_result(None)

    def content(self, where: str) -> dict[str, Any]:
        """Return the answer's data.

        Raises:
            TransitFailed: it is another answer than one is looking for.
        """
        if self._status != 200:
            raise TransitFailed(
                f"The Transit server refused (HTTP {self._status})",
                where=where,
                hint="Check its key and mount in [keys], the token and the token's policy.",
            )
        try:
            data = json.loads(bytes(self._body))["data"]
        except (ValueError, KeyError, TypeError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise TransitFailed(
                "The Transit server's answer is not one of its API",
                where=where,
                hint="Check the url in [keys].",
            )
        return data

    def _fail(self) -> None:
        if not self.ended.done():
            self.ended.set_exception(OSError("the transfer failed"))
