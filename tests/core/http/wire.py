"""A client on real sockets, and what a test asks of the process around it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.clock import SystemClock
from core.http import AddressPolicy, Bounds, CurlTransport, Resolver, VaultHttpClient
from core.vault import Credential
from tests.core.http.rig import SECRET
from tests.fakes.http_ports import CountingIds, FakeVault, MemoryAudit
from tests.fakes.resolver import FakeResolver


class Wire:
    """The real client over the real transport; the rest as in ``Rig``."""

    def __init__(
        self,
        transport: CurlTransport,
        *,
        allow: tuple[str, ...] = ("127.0.0.1",),
        resolver: Resolver | None = None,
        credential: Credential | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.transport = transport
        self.audit = MemoryAudit()
        self.client = VaultHttpClient(
            transport=transport,
            resolver=resolver or FakeResolver(),
            policy=AddressPolicy(),
            audit=self.audit,
            secrets=FakeVault(key=SECRET),
            clock=SystemClock(),
            ids=CountingIds(),
            credential=credential,
            allow=allow,
            bounds=bounds,
        )


@contextmanager
def curl(cafile: Path | None = None) -> Iterator[CurlTransport]:
    """Give a transport that is closed afterwards."""
    transport = CurlTransport(cafile=None if cafile is None else str(cafile))
    try:
        yield transport
    finally:
        transport.close()


def descriptors() -> int:
    """Return how many file descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


def resident_kib() -> int:
    """Return how much memory this process holds, in KiB."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1_024
