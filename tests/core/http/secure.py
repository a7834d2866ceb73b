"""A certificate authority of the test's own, and what it vouches for."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

from tests.fakes.resolver import FakeResolver

HOST = "secure.test"
OTHER = "other.test"
ALLOW = (HOST, OTHER)


def names() -> FakeResolver:
    """Return a resolver that knows the two hosts of ``ALLOW``."""
    return FakeResolver({HOST: ("127.0.0.1",), OTHER: ("127.0.0.1",)})


class Authority:
    """Makes server contexts; ``cafile`` is what a client must trust."""

    def __init__(self, folder: Path) -> None:
        self._made = trustme.CA()
        self.cafile = folder / "ca.pem"
        self._made.cert_pem.write_to_path(str(self.cafile))

    def context(self, host: str = HOST, *, days: tuple[int, int] = (-1, 1)) -> ssl.SSLContext:
        """Return a server's context with a certificate for ``host``.

        Args:
            host: the name in the certificate.
            days: from when to when it holds, in days from now.
        """
        now = datetime.now(UTC)
        start, end = (now + timedelta(days=one) for one in days)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._made.issue_cert(host, not_before=start, not_after=end).configure_cert(context)
        return context
