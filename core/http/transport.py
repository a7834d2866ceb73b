"""The transport on libcurl."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from typing import TYPE_CHECKING

from core.errors import ConfigError, TransportFailed
from core.http._addresses import AddressPolicy
from core.http._seam import Belt, Pin, Sink, Transfer, WireRequest

if TYPE_CHECKING:
    from core.http._curl_driver import Driver

_OLDEST_LIBCURL = (8, 22, 0)  # with the fixes of connections kept for other credentials


class CurlTransport:
    """Moves bytes with libcurl: one multi handle for each event loop that uses it.

    Close it on the loop that used it. A transport belongs to the process that
    made it.

    Args:
        cafile: a file with the trusted certificates, or None for the system's.
        policy: the address table, asked again at every connection.

    Raises:
        ConfigError: the environment asks for TLS keys to be written to a file, or
            libcurl is too old.
    """

    supports_abort = True

    def __init__(self, *, cafile: str | None = None, policy: AddressPolicy | None = None) -> None:
        if os.environ.get("SSLKEYLOGFILE"):
            raise ConfigError(
                "TLS session keys would be written to a file",
                where="SSLKEYLOGFILE",
                hint="Unset it: whoever reads that file reads every credential.",
            )
        _check_libcurl()
        self._cafile = cafile or _system_cafile()
        self._policy = policy or AddressPolicy()
        self._closed = False
        self._drivers: dict[asyncio.AbstractEventLoop, Driver] = {}

    def start(self, request: WireRequest, pin: Pin, belt: Belt, sink: Sink) -> Transfer:
        """Hand a request over on the running loop.

        Raises:
            TransportFailed: nothing was sent.
        """
        if self._closed:
            raise TransportFailed("The transport is closed", code="transport_unusable")
        loop = asyncio.get_running_loop()
        driver = self._drivers.get(loop)
        if driver is None:
            driver = self._new_driver(loop)
        return driver.start(request, pin, belt, sink)

    def close(self) -> None:
        """End every transfer and every connection; harmless when repeated.

        To whoever waits for a call it ends as one that somebody stopped.
        """
        self._closed = True
        drivers, self._drivers = self._drivers, {}
        for driver in drivers.values():
            driver.close()

    def _new_driver(self, loop: asyncio.AbstractEventLoop) -> Driver:
        from core.http._curl_driver import Driver

        for gone in [known for known in self._drivers if known.is_closed()]:
            self._drivers.pop(gone).close()
        self._drivers[loop] = driver = Driver(loop, self._cafile, self._policy)
        return driver


def _check_libcurl() -> None:
    import pycurl

    text = pycurl.version_info()[1]
    version = tuple(int(part) for part in text.split("-")[0].split("."))
    if version < _OLDEST_LIBCURL:
        wanted = ".".join(map(str, _OLDEST_LIBCURL))
        raise ConfigError(
            f"This libcurl is too old: {text}, and {wanted} or later is needed",
            where="pycurl",
            hint="Install pycurl from its wheel.",
        )


def _system_cafile() -> str | None:
    # The Linux wheel finds the system's file by itself; the others look nowhere.
    return None if sys.platform == "linux" else ssl.get_default_verify_paths().cafile
