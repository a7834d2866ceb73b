"""Blocking functions beside the loop, each in a thread of its own.

The loop's default executor is joined when the loop closes, so one function that hangs
would keep the whole process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from core.tools.base import LeftRunning

_T = TypeVar("_T")


async def in_thread(function: Callable[[], _T], *, name: str) -> _T:
    """Run ``function`` in a daemon thread and return what it returns.

    Cancelling the caller ends the wait, not the function.

    Raises:
        LeftRunning: the caller was cancelled and the function goes on.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()
    context = copy_context()
    ended = threading.Event()

    def settle(end: Callable[[], None]) -> None:
        if not done.done():
            end()

    def work() -> None:
        try:
            end = partial(done.set_result, context.run(function))
        except StopIteration as stop:
            # A future refuses this one: it would end a generator.
            error = RuntimeError("the function raised StopIteration")
            error.__cause__ = stop
            end = partial(done.set_exception, error)
        except BaseException as raised:
            end = partial(done.set_exception, raised)
        ended.set()
        with suppress(RuntimeError):  # The loop is gone: nobody waits.
            loop.call_soon_threadsafe(settle, end)

    threading.Thread(target=work, name=name, daemon=True).start()
    try:
        return await done
    except asyncio.CancelledError as cancelled:
        if done.cancelled() and not ended.is_set():
            raise LeftRunning from cancelled
        raise
