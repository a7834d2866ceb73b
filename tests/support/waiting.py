"""Waiting for what a test is about, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE_S = 10.0


async def until(condition: Callable[[], object], what: str = "the condition") -> None:
    """Turn the loop until ``condition`` holds.

    Raises:
        AssertionError: it did not within ten seconds.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    pause = 0.0
    while not condition():
        if loop.time() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        await asyncio.sleep(pause)
        pause = min(pause + 0.0005, 0.01)
