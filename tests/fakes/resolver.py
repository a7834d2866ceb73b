"""A resolver whose answers a test gives."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping


class FakeResolver:
    """A ``core.http.Resolver``: a name without an answer raises, a held one waits.

    ``asked`` lists the names in order. ``hold(host)`` makes lookups of that name
    wait until ``release(host)``; ``waiting`` counts those.
    """

    def __init__(self, answers: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.answers = dict(answers or {})
        self.asked: list[str] = []
        self.waiting = 0
        self._held: dict[str, asyncio.Event] = {}

    def hold(self, host: str) -> None:
        self._held[host] = asyncio.Event()

    def release(self, host: str) -> None:
        self._held.pop(host).set()

    async def resolve(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        held = self._held.get(host)
        if held is not None:
            self.waiting += 1
            try:
                await held.wait()
            finally:
                self.waiting -= 1
        if host not in self.answers:
            raise OSError("no such name")
        return self.answers[host]
