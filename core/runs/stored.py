"""Reads a whole stream at once, page by page."""

from __future__ import annotations

from core.model.events import Event
from core.store.protocol import RunStore

_PAGE = 1_000


async def stored_events(store: RunStore, run_id: str) -> list[Event]:
    """Return every event that a run has so far; none if there is no such run.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    events: list[Event] = []
    while True:
        page = await store.read_events(run_id, after=len(events) - 1, limit=_PAGE)
        events.extend(page)
        if len(page) < _PAGE:
            return events
