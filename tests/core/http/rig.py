"""A client with every port in the test's hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from core.http import (
    AddressPolicy,
    Bounds,
    CallContext,
    CancelSignal,
    Request,
    Response,
    VaultHttpClient,
)
from core.vault import Credential
from tests.fakes.clock import FakeClock
from tests.fakes.http_ports import CountingIds, FakeVault, MemoryAudit
from tests.fakes.resolver import FakeResolver
from tests.fakes.transport import ScriptedTransfer, ScriptedTransport

SECRET = "s3cr3t-canary-value"
URL = "https://api.example.com/v1/things?q=query-canary"
ADDRESS = "93.184.216.34"


class Rig:
    """The client, its fakes, and the shortcuts that tests share."""

    def __init__(
        self,
        *,
        credential: Credential | None = None,
        allow: tuple[str, ...] = (),
        bounds: Bounds | None = None,
        reply: Callable[[ScriptedTransfer], None] | None = None,
    ) -> None:
        self.transport = ScriptedTransport(reply)
        self.resolver = FakeResolver({"api.example.com": (ADDRESS,)})
        self.audit = MemoryAudit()
        self.vault = FakeVault(key=SECRET)
        self.clock = FakeClock()
        self.context = CallContext(actor="tester", run_id="run-9", step="s3")
        self.signal = CancelSignal()
        self.client = VaultHttpClient(
            transport=self.transport,
            resolver=self.resolver,
            policy=AddressPolicy(),
            audit=self.audit,
            secrets=self.vault,
            clock=self.clock,
            ids=CountingIds(),
            credential=credential,
            allow=allow,
            context=self.context,
            bounds=bounds,
        )

    def begin(self, request: Request | None = None) -> asyncio.Task[Response]:
        """Start a cancellable call in a task."""
        wanted = request or Request("GET", URL)
        return asyncio.create_task(self.client.send_cancellable(wanted, self.signal))
