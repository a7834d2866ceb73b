"""A tool whose body waits until a test lets it go on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from core.errors import RequestCancelled
from core.model import Effect
from core.tools import ToolContext


class Heeds(Enum):
    """What ends a body that waits, besides ``release``."""

    SIGNAL = "its signal"
    TASK_CANCEL = "the end of its task"
    NOTHING = "nothing: it swallows the first of both"


@dataclass
class HeldTool:
    """A ``core.tools.Tool``.

    Attributes:
        heeds: what ends its body besides ``release``.
        result: what it returns.
        runs: how often its body began.
        ended: how often its body ended.
        contexts: what its bodies got.
    """

    name: str = "held"
    effect: Effect = Effect.PURE
    heeds: Heeds = Heeds.SIGNAL
    deadline_s: float = 120.0
    alone: bool = False
    result: str = "done"
    description: str = "waits"
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    runs: int = 0
    ended: int = 0
    contexts: list[ToolContext] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._go_on = asyncio.Event()

    def release(self) -> None:
        """Let every body return."""
        self._go_on.set()

    async def run(self, arguments: str, context: ToolContext) -> str:
        self.runs += 1
        self.contexts.append(context)
        try:
            await self._wait(context)
        finally:
            self.ended += 1
        return self.result

    async def _wait(self, context: ToolContext) -> None:
        if self.heeds is Heeds.TASK_CANCEL:
            await self._go_on.wait()
            return
        if self.heeds is Heeds.NOTHING:
            # Only the runtime's own try: a loop that ends must not hang.
            with suppress(asyncio.CancelledError):
                await self._go_on.wait()
            await self._go_on.wait()
            return
        stopped = asyncio.Event()
        unsubscribe = context.signal.subscribe(stopped.set)
        waits = [asyncio.ensure_future(event.wait()) for event in (self._go_on, stopped)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            unsubscribe()
            for wait in waits:
                wait.cancel()
        if not self._go_on.is_set():
            raise RequestCancelled("The tool was asked to stop", code="stopped", before_send=True)
