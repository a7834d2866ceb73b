"""The real client over real sockets on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from core.clock import SystemClock
from core.http import (
    AddressPolicy,
    Bounds,
    CancelSignal,
    CurlTransport,
    ThreadResolver,
    VaultHttpClient,
)
from core.model.messages import Message, ModelRequest, ToolSpec
from core.providers import ModelReply, OnDelta, OpenAIChat, Provider
from tests.fakes.http_ports import CountingIds, FakeCredential, FakeVault, MemoryAudit

KEY = "demo-s3cr3t"
WEATHER = ToolSpec(
    "get_weather",
    "Says how the weather is.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


class LiveModel:
    """A provider and a client that reach one server, and the rows that they leave."""

    def __init__(self, base_url: str, http: VaultHttpClient, audit: MemoryAudit) -> None:
        self.http = http
        self.audit = audit
        self.provider: Provider = OpenAIChat(base_url, headers=(("X-Run-Id", "run-1"),))

    async def respond(
        self,
        request: ModelRequest,
        *,
        signal: CancelSignal | None = None,
        on_delta: OnDelta = lambda kind, text: None,
    ) -> ModelReply:
        return await self.provider.respond(
            request, http=self.http, signal=signal or CancelSignal(), on_delta=on_delta
        )


@asynccontextmanager
async def live_model(base_url: str, *, bounds: Bounds | None = None) -> AsyncIterator[LiveModel]:
    netloc = urlsplit(base_url).netloc
    transport = CurlTransport()
    audit = MemoryAudit()
    http = VaultHttpClient(
        transport=transport,
        resolver=ThreadResolver(),
        policy=AddressPolicy(),
        audit=audit,
        secrets=FakeVault(key=KEY),
        clock=SystemClock(),
        ids=CountingIds(),
        credential=FakeCredential(hosts=(netloc,)),
        allow=(netloc,),
        bounds=bounds,
    )
    try:
        yield LiveModel(base_url, http, audit)
    finally:
        await http.drain()
        transport.close()


def ask(model: str, *messages: Message, stream: bool = True, tools: bool = False) -> ModelRequest:
    return ModelRequest(
        model,
        messages or (Message("user", "How is the weather in Oslo?"),),
        tools=(WEATHER,) if tools else (),
        stream=stream,
    )
