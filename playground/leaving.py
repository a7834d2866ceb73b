"""Signals: every way of leaving keeps the last write and gives the terminal back."""

from __future__ import annotations

import asyncio
import queue
import signal
import threading
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from playground.app import PlaygroundApp

_LEAVE = (signal.SIGTERM, signal.SIGHUP)


def _into_nothing(text: str) -> None:
    """Take what nobody can see any more."""


class Leaving:
    """Handles signals while the app is open and while the runtime drains.

    SIGTERM and SIGHUP (a terminal that was closed) take the screen away; the runtime, whose
    block surrounds the app's, then stops its runs at a boundary and aborts them after five
    seconds. A second signal aborts at once. SIGINT is what Ctrl+C is: a press of cancel.

    Attributes:
        code: 128 plus the signal that ended the app, else 0.
    """

    def __init__(self) -> None:
        self.code = 0
        self._app: PlaygroundApp | None = None
        self._aborting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for number in _LEAVE:
            loop.add_signal_handler(number, self._leave, number)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        self._loop = loop
        self._excepthook, threading.excepthook = threading.excepthook, self._thread_died
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        threading.excepthook = self._excepthook
        for number in (*_LEAVE, signal.SIGINT):
            self._loop.remove_signal_handler(number)
        if self._aborting is not None:
            await self._aborting

    async def show(self, app: PlaygroundApp) -> None:
        """Run the app, unless a signal came before it could begin."""
        self._app = app
        if not self.code:
            await app.run_async()

    def _thread_died(self, ended: threading.ExceptHookArgs) -> None:
        """Leave where the terminal went away without a signal.

        Textual's writer dies of it, and the loop would wait for ever on its full queue.
        """
        from textual.drivers._writer_thread import WriterThread

        if not isinstance(ended.thread, WriterThread):
            self._excepthook(ended)
            return
        ended.thread.write = _into_nothing  # type: ignore[method-assign]
        with suppress(queue.Empty):
            while True:
                ended.thread._queue.get_nowait()
        self._loop.call_soon_threadsafe(self._hang_up)

    def _hang_up(self) -> None:
        if not self.code:
            self._leave(signal.SIGHUP)

    def _leave(self, number: int) -> None:
        if self.code:
            self._abort()
            return
        self.code = 128 + number
        if self._app is not None and self._app.is_running:
            self._app.exit(return_code=self.code)
        else:
            self._abort()

    def _interrupt(self) -> None:
        if self._app is None:
            self.code = 128 + signal.SIGINT
        elif self._app.is_running:
            self._app.call_later(self._app.action_cancel)
        else:
            self._abort()

    def _abort(self) -> None:
        """Cut what is still in flight: the person has said it twice."""
        if self._app is not None and self._app.live and self._aborting is None:
            self._aborting = asyncio.get_running_loop().create_task(self._abort_all(self._app))

    async def _abort_all(self, app: PlaygroundApp) -> None:
        from core import CancelLevel
        from core.errors import StepbrakeError

        for run_id in app.runtime.live:
            try:
                await app.runtime.cancel(run_id, CancelLevel.ABORT)
            except StepbrakeError:
                continue  # the runtime itself tries again, and says what it could not do
