"""From the core's events to the screen: followed, folded, handed over at most 20 times a second.

The only place where the app awaits the runtime. A run is never owned here: closing a feed
lets go of a run, it does not stop it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Protocol

from core import Clock
from core.errors import StepbrakeError
from core.model import CancelLevel, CancelReceipt, Delta, Event, Output, RunRequest
from playground.state.cancel import CancelLadder
from playground.state.run import RunView

INTERVAL = 0.05
"""Seconds between two batches."""

_Piece = Delta | Output


class Batcher:
    """Collects events; consecutive pieces of one text become one piece.

    Between two persisted events the order of pieces of different steps is of no meaning, so
    that steps side by side fold as well.
    """

    def __init__(self, deliver: Callable[[list[Event]], None], interval: float = INTERVAL) -> None:
        self._deliver = deliver
        self._interval = interval
        self._events: list[Event] = []
        self._open: dict[tuple[str, str, bool], tuple[_Piece, list[str], int]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0

    def put(self, event: Event) -> None:
        """Take one event; it is delivered within the interval."""
        if isinstance(event, _Piece):
            self._fold(event)
        else:
            self._close_pieces()
            self._events.append(event)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            wait = max(0.0, self._last + self._interval - loop.time())
            self._timer = loop.call_later(wait, self.flush)

    def flush(self) -> None:
        """Deliver what there is."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._last = asyncio.get_running_loop().time()
        self._close_pieces()
        if self._events:
            events, self._events = self._events, []
            self._deliver(events)

    def _fold(self, event: _Piece) -> None:
        thinking = isinstance(event, Delta) and bool(event.thinking)
        text = event.thinking if isinstance(event, Delta) and thinking else event.text
        key = (event.kind.value, event.step, thinking)
        entry = self._open.get(key)
        if entry is not None and entry[2] == event.offset:
            entry[1].append(text)
            self._open[key] = (entry[0], entry[1], event.offset + len(text))
            return
        if entry is not None:
            self._close_pieces()
        self._open[key] = (event, [text], event.offset + len(text))

    def _close_pieces(self) -> None:
        for (_, _, thinking), (first, parts, _) in self._open.items():
            if len(parts) == 1:
                self._events.append(first)
            elif thinking and isinstance(first, Delta):
                self._events.append(replace(first, thinking="".join(parts)))
            else:
                self._events.append(replace(first, text="".join(parts)))
        self._open.clear()


class Driver(Protocol):
    """What a session asks of ``core.Runtime``."""

    @property
    def live(self) -> tuple[str, ...]:
        """Return the ids of the runs this process drives."""

    async def start(self, request: RunRequest) -> Any:
        """Start a run; the handle has its ``id``."""

    def events(self, run_id: str, after: int = -1) -> Any:
        """Return the run's stream: an asynchronous context manager and iterator."""

    async def cancel(
        self,
        run_id: str,
        level: CancelLevel = CancelLevel.BOUNDARY,
        *,
        by: str | None = None,
        reason: str = "",
    ) -> CancelReceipt:
        """Stop a run, whoever drives it."""


class RunSession:
    """One run on the screen: what it shows, its cancel ladder, and its feed.

    Args:
        runtime: the core.
        clock: where "now" comes from.
        changed: called with the rows that changed, after the view has.
        grown: called instead where nothing happened but that text was added to rows.
        complain: called with an error that a person should see.

    Attributes:
        view: the state behind the screen.
        ladder: the cancel keys' state.
        watching: it was found in a list, and what it was asked has not been shown yet.
    """

    def __init__(
        self,
        runtime: Driver,
        clock: Clock,
        *,
        changed: Callable[[RunSession, set[int]], None],
        grown: Callable[[RunSession, set[int]], None],
        complain: Callable[[RunSession, Exception], None],
    ) -> None:
        self._runtime = runtime
        self._clock = clock
        self._changed = changed
        self._grown = grown
        self._complain = complain
        self._tasks: set[asyncio.Task[None]] = set()
        self._feed: asyncio.Task[None] | None = None
        self._closed = False
        self.view = RunView()
        self.ladder = CancelLadder()
        self.watching = False

    def start(self, request: RunRequest) -> None:
        """Start a run and follow it."""
        self.view.model = request.model
        self._spawn(self._start(request))

    def attach(self, run_id: str) -> None:
        """Follow a run that is there already, from its first event."""
        self.watching = True
        self.view.run_id = run_id
        self.view.attached = run_id not in self._runtime.live
        self._feed = self._spawn(self._follow(run_id))

    def press(self) -> None:
        """Take one press of the cancel key or button."""
        if not self.view.phase.live:
            return
        self.ladder, level = self.ladder.press(self._clock.monotonic())
        if level is not None:
            self.view.asked(level, self._clock.now_us())
            if self.view.run_id:
                self._spawn(self._cancel(level))
            self._changed(self, set())

    def painted(self) -> None:
        """Say that the present state is on the screen."""
        self.ladder = self.ladder.painted(self._clock.monotonic())

    async def close(self) -> None:
        """Let go of the run. A cancel that was asked for is still delivered."""
        self._closed = True
        if self._feed is not None:
            self._feed.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _start(self, request: RunRequest) -> None:
        run = await self._runtime.start(request)
        self.view.run_id = run.id
        if self.ladder.level is not None:
            self._spawn(self._cancel(self.ladder.level))
        if not self._closed:
            self._feed = self._spawn(self._follow(run.id))

    async def _follow(self, run_id: str) -> None:
        batcher = Batcher(self._take)
        try:
            async with self._runtime.events(run_id, after=self.view.last_seq) as events:
                async for event in events:
                    batcher.put(event)
        finally:
            batcher.flush()

    def _take(self, events: list[Event]) -> None:
        if self._closed:
            return
        before = self.view.last_seq
        rows = self.view.apply(events)
        if self.view.level is not None:
            self.ladder = self.ladder.requested(self.view.level)
        if self.view.last_seq == before:
            self._grown(self, rows)
        else:
            self._changed(self, rows)

    async def _cancel(self, level: CancelLevel) -> None:
        try:
            receipt = await self._runtime.cancel(self.view.run_id, level)
        except StepbrakeError:
            self.view.refused(level)
            self.ladder = self.ladder.refused(self.view.level)
            self._changed(self, set())
            raise
        self.view.acknowledged(receipt)
        self._changed(self, set())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            if not isinstance(error, Exception):
                raise error
            self._complain(self, error)
