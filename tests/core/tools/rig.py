"""A tool's context with every port in the test's hands."""

from __future__ import annotations

from core.http import AddressPolicy, CancelSignal, VaultHttpClient
from core.tools import ToolContext
from core.vault import Credential
from tests.fakes.clock import FakeClock
from tests.fakes.http_ports import CountingIds, FakeVault, MemoryAudit
from tests.fakes.resolver import FakeResolver
from tests.fakes.transport import ScriptedTransport


class ToolRig:
    """``context`` and what stands behind it; ``shown`` is what the tool put out."""

    def __init__(self, credential: Credential | None = None) -> None:
        self.clock = FakeClock()
        self.signal = CancelSignal()
        self.transport = ScriptedTransport()
        self.audit = MemoryAudit()
        self.asked: list[str] = []
        self.shown: list[str] = []
        self._credential = credential
        self.context = ToolContext(
            signal=self.signal,
            http=VaultHttpClient(
                transport=self.transport,
                resolver=FakeResolver({"api.example.com": ("93.184.216.34",)}),
                policy=AddressPolicy(),
                audit=self.audit,
                secrets=FakeVault(key="s3cr3t-canary"),
                clock=self.clock,
                ids=CountingIds(),
            ),
            idempotency_key="key-1",
            credential_for=self._credential_for,
            emit=self.shown.append,
            clock=self.clock,
        )

    def _credential_for(self, url: str) -> Credential | None:
        self.asked.append(url)
        return self._credential
