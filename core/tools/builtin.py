"""The tools that are always there. None of them changes anything."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Annotated, Any

from pydantic import Field

from core.errors import RequestCancelled
from core.http import Request
from core.text import decode
from core.tools.base import Tool, ToolContext, clip_marked
from core.tools.function import tool

_BODY_LIMIT = 64 * 1024
_SKIES = ("sunny", "partly cloudy", "overcast", "light rain", "showers", "fog", "snow")


@tool(effect="pure")
def get_weather(city: Annotated[str, Field(min_length=1, max_length=200)]) -> dict[str, Any]:
    """Return the weather of a city: made up, and always the same for one city.

    Args:
        city: the city's name, e.g. "Lisbon".
    """
    dice = hashlib.sha256(city.strip().casefold().encode("utf-8", "replace")).digest()
    return {
        "city": city.strip(),
        "sky": _SKIES[dice[0] % len(_SKIES)],
        "temperature_c": dice[1] % 36 - 5,
        "wind_kmh": dice[2] % 60,
        "humidity_percent": 30 + dice[3] % 66,
    }


@tool(effect="pure")
async def http_get(url: str, context: ToolContext) -> str:
    """Fetch a URL with GET and return the status and the body as text.

    A credential that is bound to the URL's host is sent along. Redirects are not
    followed. A long body is clipped.

    Args:
        url: an absolute URL; https, or http where the configuration allows it.
        context: what the call may use.
    """
    client = context.http.with_credential(context.credential_for(url))
    request = Request("GET", url, headers=(("Accept", "application/json, text/*, */*;q=0.5"),))
    response = await client.send_cancellable(request, context.signal)
    # A secret that is cut in two is no longer found.
    body = context.mask(decode(response.body))
    return f"HTTP {response.status}\n\n{clip_marked(body, _BODY_LIMIT)}"


@tool(effect="pure")
async def slow_count(
    context: ToolContext, seconds: Annotated[int, Field(ge=1, le=100)] = 10
) -> str:
    """Count up once a second, showing each number; good for trying out Cancel.

    Args:
        context: what the call may use.
        seconds: how far to count.
    """
    for number in range(1, seconds + 1):
        await _pause(1.0, context)
        context.output(f"{number}\n")
    return f"Counted to {seconds}."


def builtin_tools() -> tuple[Tool, ...]:
    """Return the built-in tools."""
    return (get_weather, http_get, slow_count)


async def _pause(seconds: float, context: ToolContext) -> None:
    """Wait ``seconds`` of the context's clock.

    Raises:
        RequestCancelled: the signal was raised meanwhile.
    """
    loop = asyncio.get_running_loop()
    woken = asyncio.Event()
    timer = context.clock.call_later(seconds, woken.set)

    def wake() -> None:
        loop.call_soon_threadsafe(woken.set)

    unsubscribe = context.signal.subscribe(wake)
    try:
        await woken.wait()
    finally:
        unsubscribe()
        timer.cancel()
    if context.signal.is_set():
        raise RequestCancelled("The tool was asked to stop", code="tool_stopped", before_send=True)
