"""Signals while a command follows a run."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def signals(callback: Callable[[str], None]) -> Iterator[None]:
    """Have SIGINT, SIGTERM and SIGHUP call ``callback`` on the loop with their name.

    A SIGHUP that whoever started us wants ignored (``nohup``) stays ignored. Outside of
    the main thread, where no handler can be set, nothing changes.
    """
    loop = asyncio.get_running_loop()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    with suppress(ValueError, RuntimeError):
        for number in numbers:
            loop.add_signal_handler(number, callback, number.name)
    try:
        yield
    finally:
        with suppress(ValueError, RuntimeError):
            for number in numbers:
                loop.remove_signal_handler(number)
