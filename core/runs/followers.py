"""Follow a run: replay what is stored, then go live. A follower never owns a run.

A slow follower loses deltas, never events: what it has not read is in the store.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from types import TracebackType

from core.errors import StoreUnavailable, UnknownRun
from core.model.events import Event, StepEvent
from core.runs.partials import Partials
from core.store.protocol import RunStore

_PAGE = 500
_MOST_WAITING = 2_000


class Hub:
    """Hands events of this process to its followers, and wakes those of other runs."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._followers: dict[str, set[EventStream]] = {}
        self._partials = Partials()

    @property
    def followed(self) -> bool:
        """Return whether anybody follows a run."""
        return bool(self._followers)

    def stored(self, events: Sequence[Event]) -> None:
        """Take a batch that was just committed, in commit order."""
        for event in events:
            self._partials.stored(event)
            for follower in self._followers.get(event.run_id, ()):
                follower.push(event)

    def transient(self, event: Event) -> None:
        """Take an event that is not stored."""
        self._partials.add(event)
        for follower in self._followers.get(event.run_id, ()):
            follower.push(event)

    def changed_elsewhere(self) -> None:
        """Let every follower look into the store: another process may have appended."""
        for followers in self._followers.values():
            for follower in followers:
                follower.look()

    def close(self) -> None:
        """End every follower whose run has not ended: nobody will tell it any more."""
        for followers in self._followers.values():
            for follower in followers:
                follower.close()

    def follow(self, run_id: str, *, after: int = -1) -> EventStream:
        """Return a stream of the run's events with a seq above ``after``."""
        return EventStream(self._store, self, run_id, after)

    def join(self, run_id: str, follower: EventStream) -> None:
        """Begin to push to a follower, first what the run's open steps have streamed so far."""
        self._followers.setdefault(run_id, set()).add(follower)
        for event in self._partials.of(run_id):
            follower.push(event)

    def leave(self, run_id: str, follower: EventStream) -> None:
        """Push nothing more to a follower."""
        same = self._followers.get(run_id, set())
        same.discard(follower)
        if not same:
            self._followers.pop(run_id, None)


class EventStream:
    """An asynchronous context manager and iterator over a run's events.

    Ends after the run's terminal event. Leaving the block only stops reading.

    Raises:
        UnknownRun: there is no such run (when entered).
        StoreUnavailable: the store cannot be read, or the runtime was closed.
    """

    def __init__(
        self,
        store: RunStore,
        hub: Hub,
        run_id: str,
        after: int,
    ) -> None:
        self._store = store
        self._hub = hub
        self._run_id = run_id
        self._last = after
        self._waiting: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._behind = True
        self._closed = False
        self._finished_steps: set[str] = set()

    async def __aenter__(self) -> EventStream:
        # First of all, so that nothing that is streamed meanwhile is missed.
        self._hub.join(self._run_id, self)
        try:
            if await self._store.get_run(self._run_id) is None:
                raise UnknownRun(self._run_id)
        except BaseException:
            self._hub.leave(self._run_id, self)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._hub.leave(self._run_id, self)

    def push(self, event: Event) -> None:
        """Take an event of this process; called by the hub."""
        if len(self._waiting) >= _MOST_WAITING:
            # The store has the events; deltas are lost to a follower this slow.
            self._waiting.clear()
            self._behind = True
        self._waiting.append(event)
        self._wake.set()

    def look(self) -> None:
        """Read the store again; called by the hub."""
        self._behind = True
        self._wake.set()

    def close(self) -> None:
        """Have the reader hear, after all there is, that no more will come; by the hub."""
        self._closed = True
        self._wake.set()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            if self._behind:
                self._behind = False
                before = self._last
                async for event in self._replay():
                    yield event
                    if event.terminal:
                        return
                if self._last == before and await self._over():
                    return
            while self._waiting and not self._behind:
                event = self._waiting.popleft()
                if self._due(event):
                    yield event
                if event.terminal and not self._behind:
                    return
            if not self._behind:
                self._wake.clear()
                if not self._waiting:
                    if self._closed:
                        raise StoreUnavailable("The runtime was closed", where=self._run_id)
                    await self._wake.wait()

    async def _replay(self) -> AsyncIterator[Event]:
        while True:
            page = await self._store.read_events(self._run_id, after=self._last, limit=_PAGE)
            for event in page:
                if self._due(event):
                    yield event
            if len(page) < _PAGE:
                return

    async def _over(self) -> bool:
        """Say whether the run was closed before what this follower wants to see."""
        row = await self._store.get_run(self._run_id)
        return row is None or (row.closed_us is not None and row.next_seq <= self._last + 1)

    def _due(self, event: Event) -> bool:
        """Say whether ``event`` is the next to give, and note that it was given."""
        if event.seq is None:
            return not (isinstance(event, StepEvent) and event.step in self._finished_steps)
        if event.seq <= self._last:
            return False
        if event.seq > self._last + 1:
            # An event of another process lies between: the store has both.
            self._behind = True
            return False
        self._last = event.seq
        if isinstance(event, StepEvent) and event.kind.value in ("response", "tool"):
            self._finished_steps.add(event.step)
        return True
