"""Keeps what the audit pane shows up to date, a few times a second at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from textual.timer import Timer
from textual.widget import Widget

from core.errors import StepbrakeError
from playground.state.audit_source import AuditSource
from playground.widgets.audit_reader import AuditReader, Growth

_COALESCE_SECONDS = 0.1
_HIDDEN_SECONDS = 1.0
_RETRY_SECONDS = 2.0


class Shows(Protocol):
    """What the follower asks of who draws the rows."""

    @property
    def window(self) -> tuple[int, int]:
        """Return the first and last index in view."""

    def grew(self, growth: Growth) -> None:
        """Take what a look at the log found."""

    def filled(self) -> None:
        """Take that rows came into memory."""

    def failed(self, error: StepbrakeError) -> None:
        """Take that the log does not answer; it is asked again soon."""


class AuditFollower:
    """Looks at the log when it may have grown, and loads what comes into view.

    There is one look at a time, and it always goes for what is in view then: rows that were
    passed by in a jump are never read.

    Args:
        owner: the widget whose life it shares.
        source: the log.
        shows: who draws the rows.

    Attributes:
        reader: the rows of the present query.
    """

    def __init__(self, owner: Widget, source: AuditSource, shows: Shows) -> None:
        self._owner = owner
        self._source = source
        self._shows = shows
        self._timer: Timer | None = None
        self._stale = True
        self._noted = False
        self._reading = False
        self.reader = AuditReader(source)

    def start(self) -> Callable[[], None]:
        """Begin; return what ends it."""
        self.sync()
        return self._source.subscribe(self._note)

    def read(self, reader: AuditReader) -> None:
        """Follow another query."""
        self.reader = reader
        self._stale = True
        self.sync()

    @property
    def idle(self) -> bool:
        """Return whether everything in view is as the log was last seen."""
        if self._reading or self._stale or self._noted or self._timer is not None:
            return False
        return next(self.reader.pages.wanted(*self._shows.window), None) is None

    def _note(self) -> None:
        """Take a hint of the log; many hints are one look at it."""
        # It comes in a task of the log's: a timer made there would outlive the app.
        if not self._noted:
            self._noted = True
            self._owner.call_later(self.touch)

    def touch(self) -> None:
        """Look at the log soon; later if nobody can see it, when it is seen again."""
        self._noted = False
        self._stale = True
        if self._timer is None and self._owner.is_on_screen:
            seen = self._owner.screen.is_active
            self._wait(_COALESCE_SECONDS if seen else _HIDDEN_SECONDS)

    def _wait(self, seconds: float) -> None:
        self._timer = self._owner.set_timer(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        self.sync()

    def sync(self) -> None:
        """See that what is in view is read."""
        if not self._reading:
            self._reading = True
            self._owner.run_worker(self._read(), group="audit-read")

    async def _read(self) -> None:
        try:
            while True:
                reader = self.reader
                request = next(reader.pages.wanted(*self._shows.window), None)
                if self._stale:
                    self._stale = False
                    growth = await reader.grow()
                    if reader is self.reader:
                        self._shows.grew(growth)
                elif request is not None:
                    await reader.load(request)
                    if reader is self.reader:
                        self._shows.filled()
                else:
                    return
        except StepbrakeError as error:
            self._stale = True
            self._shows.failed(error)
            if self._timer is None:
                self._wait(_RETRY_SECONDS)
        finally:
            self._reading = False
