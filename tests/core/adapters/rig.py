"""An httpx client over the scripted client."""

from __future__ import annotations

from typing import Any

from core.adapters import httpx_transport
from tests.core.http.rig import Rig


def over(library: Any, rig: Rig, **options: Any) -> Any:
    """Return an ``AsyncClient`` of ``library`` that sends through the rig's client."""
    return library.AsyncClient(transport=httpx_transport(rig.client), **options)


def sent(rig: Rig) -> dict[str, list[str]]:
    """Return the headers of the one request that went out, by name in lower case."""
    assert len(rig.transport.transfers) == 1
    headers: dict[str, list[str]] = {}
    for name, value in rig.transport.transfers[0].request.headers:
        headers.setdefault(name.lower(), []).append(value)
    return headers
