"""A gated client on real sockets for an SDK that is used as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from core.adapters import httpx_transport
from core.clock import SystemClock
from core.http import AddressPolicy, CurlTransport, ThreadResolver, VaultHttpClient
from core.model import AuditAction
from core.vault import Credential
from tests.fakes.http_ports import CountingIds, FakeCredential, FakeVault, MemoryAudit

KEY = "demo-s3cr3t-of-the-vault"
PLACEHOLDER = "placeholder"
PATIENCE_S = 5.0
CALL = AuditAction.HTTP_CALL
EXPOSED = AuditAction.HTTP_CALL_CANCELLED
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

Outcome = tuple[AuditAction, bool, int]


class Gate:
    """A transport for an SDK, and the rows that its calls leave."""

    def __init__(self, client: VaultHttpClient, audit: MemoryAudit) -> None:
        self.client = client
        self.transport = httpx_transport(client)
        self._audit = audit

    @property
    def outcomes(self) -> list[Outcome]:
        """Action, success and status of every call, oldest first."""
        assert len({row.call_id for row in self._audit.rows}) == len(self._audit.rows)
        assert {row.credential for row in self._audit.rows} <= {"key"}
        return [(row.action, row.success, row.status) for row in self._audit.rows]


@asynccontextmanager
async def gate(url: str, *, api_key: bool = False) -> AsyncIterator[Gate]:
    """Open a gate to the server at ``url``.

    Args:
        url: of the server.
        api_key: the credential goes into ``X-API-Key`` instead of ``Authorization``.
    """
    netloc = urlsplit(url).netloc
    transport = CurlTransport()
    audit = MemoryAudit()
    credential: Credential = FakeCredential(hosts=(netloc,))
    if api_key:
        credential = FakeCredential(placement="api_key", field="X-API-Key", hosts=(netloc,))
    client = VaultHttpClient(
        transport=transport,
        resolver=ThreadResolver(),
        policy=AddressPolicy(),
        audit=audit,
        secrets=FakeVault(key=KEY),
        clock=SystemClock(),
        ids=CountingIds(),
        credential=credential,
        allow=(netloc,),
    )
    try:
        yield Gate(client, audit)
    finally:
        await client.drain()
        transport.close()


async def stopped_midway(stream: Any, how: str) -> list[Any]:
    """Read an SDK's stream until something arrived, stop it, and return what arrived.

    Args:
        stream: an SDK's stream.
        how: ``cancelled`` by ``task.cancel()``, or ``closed`` by its own method.
    """
    got: list[Any] = []
    some = asyncio.Event()

    async def read() -> None:
        async for chunk in stream:
            got.append(chunk)
            some.set()
            if how == "closed":
                break
        await stream.close()

    task = asyncio.create_task(read())
    await asyncio.wait_for(some.wait(), PATIENCE_S)
    if how == "cancelled":
        task.cancel()
    await asyncio.wait({task}, timeout=PATIENCE_S)
    assert task.done()
    assert task.cancelled() == (how == "cancelled")
    return got
