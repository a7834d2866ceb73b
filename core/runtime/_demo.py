"""The demo server of this process, or the one that processes share."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from core.config import OAuthEntry
from core.demo import DemoServer, pace_from_environment, url_from_environment
from core.errors import SecretUnavailable
from core.vault import Credential, Vault

DEMO = "demo"


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

    @property
    def oauth(self) -> Credential:
        """Return what the scene ``oauth`` uses: a token, had with the demo credential."""
        return replace(
            self.credential,
            name=f"{DEMO}-oauth",
            placement="oauth2",
            oauth=OAuthEntry(
                token_url=f"{self.url}/oauth/token",
                grant="client_credentials",
                client_id=DEMO,
                client_secret=DEMO,
            ),
        )


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

    @property
    def known(self) -> Credential:
        """Return the demo credential of a demo that somebody has asked for.

        Raises:
            SecretUnavailable: nobody has.
        """
        if self._address is None:
            raise SecretUnavailable(
                "The demo has no address yet",
                where=DEMO,
                hint="Its credential is bound to it: run a demo model first.",
            )
        return self._address.credential

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
        await _have_demo_secret(self._vault, self._actor)
        url = url_from_environment()
        if url is None:
            self._server = DemoServer(pace=pace_from_environment())
            await self._server.start()
            url = self._server.url
        host = urlsplit(url).netloc
        return DemoAddress(url, host, Credential(DEMO, "bearer", "Authorization", (host,)))


async def _have_demo_secret(vault: Vault, actor: str) -> None:
    """Make the demo credential if there is none."""
    try:
        await vault.credential(DEMO)
    except SecretUnavailable:
        await vault.set(DEMO, f"demo-{secrets.token_urlsafe(24)}", actor=actor)
