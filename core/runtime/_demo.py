"""The demo server of this process, or the one that processes share."""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from core.demo import DemoServer, pace_from_environment
from core.errors import ConfigError, SecretUnavailable
from core.vault import Credential, Vault

DEMO = "demo"
URL_VARIABLE = "PLAYGROUND_DEMO_URL"


@dataclass(frozen=True, slots=True)
class DemoAddress:
    """Where the demo is.

    Attributes:
        url: e.g. ``http://127.0.0.1:8000``.
        host: host and port.
        credential: the demo credential, bound to them.
    """

    url: str
    host: str
    credential: Credential


class Demo:
    """Starts the demo server when it is first needed.

    Args:
        vault: holds the demo credential, made on first use.
        actor: who makes it, in the audit row.
    """

    def __init__(self, vault: Vault, actor: str) -> None:
        self._vault = vault
        self._actor = actor
        self._lock = asyncio.Lock()
        self._server: DemoServer | None = None
        self._address: DemoAddress | None = None

    @property
    def running(self) -> bool:
        """Return whether somebody has asked for the demo."""
        return self._address is not None

    async def address(self) -> DemoAddress:
        """Return where the demo is; start it if need be.

        Raises:
            ConfigError: ``PLAYGROUND_DEMO_URL`` is no loopback URL.
        """
        async with self._lock:
            if self._address is None:
                self._address = await self._find()
            return self._address

    async def close(self) -> None:
        """Stop the server, if this process started it."""
        if self._server is not None:
            await self._server.close()

    async def _find(self) -> DemoAddress:
        value = await _demo_secret(self._vault, self._actor)
        shared = os.environ.get(URL_VARIABLE)
        if shared:
            parts = urlsplit(shared)
            if parts.scheme != "http" or not parts.hostname or parts.port is None:
                raise ConfigError(
                    "The demo's URL is not usable.",
                    where=URL_VARIABLE,
                    hint="Write http://127.0.0.1:PORT, as `playground demo-server` prints it.",
                )
            url = shared.rstrip("/")
        else:
            self._server = DemoServer(pace=pace_from_environment(), credential=value)
            await self._server.start()
            url = self._server.url
        host = urlsplit(url).netloc
        return DemoAddress(url, host, Credential(DEMO, "bearer", "Authorization", (host,)))


async def _demo_secret(vault: Vault, actor: str) -> str:
    """Return the demo credential's value; make it if there is none."""
    try:
        return (await vault.read(DEMO)).reveal()
    except SecretUnavailable:
        await vault.set(DEMO, f"demo-{secrets.token_urlsafe(24)}", actor=actor)
    # Of two processes that make it at once, the later one's value stays.
    return (await vault.read(DEMO)).reveal()
