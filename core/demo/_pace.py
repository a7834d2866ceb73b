"""How fast the demo server goes."""

from __future__ import annotations

import asyncio
import math
import os

from core.errors import ConfigError

VARIABLE = "PLAYGROUND_DEMO_PACE"


def pace_from_environment() -> float:
    """Return the factor in ``PLAYGROUND_DEMO_PACE``: 1 where it is not set, 0 for no waits.

    Raises:
        ConfigError: it is no number, or below 0.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return 1.0
    try:
        pace = float(text)
    except ValueError:
        pace = math.nan
    if not (math.isfinite(pace) and pace >= 0):
        raise ConfigError(
            "The demo's pace must be a number of 0 or more", where=VARIABLE, hint="1 is normal."
        )
    return pace


class Pacer:
    """Waits for moments of one answer, counted from its creation, so that waits do not add up.

    Args:
        pace: what a second of the scene lasts, in seconds.
    """

    def __init__(self, pace: float) -> None:
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time()

    async def until(self, seconds: float) -> None:
        """Wait until so many seconds of the scene have passed; always lets others run."""
        due = self._start + seconds * self._pace
        await asyncio.sleep(max(0.0, due - self._loop.time()))
