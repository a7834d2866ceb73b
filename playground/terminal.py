"""The terminal as it was before, also after an app that broke off on its way out."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from contextlib import suppress
from types import TracebackType
from typing import Any

from core.errors import EXIT_FAILED

# Mouse, focus and paste reports off, cursor on, the other screen left.
_PLAIN = "\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[?1049l"
_PATIENCE_S = 1.0


class Terminal:
    """A block after which the terminal is as it was, and nothing keeps the process.

    An app that ends as it should has done all this itself. One that fails while it ends
    may leave the terminal in raw mode, on its other screen, and its reader of keys at work:
    a thread that keeps the process, and spins once the terminal is gone.
    """

    def __enter__(self) -> None:
        self._modes = _modes()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._modes is not None and _modes() not in (None, self._modes):
            self._put_back(self._modes)
        held = [thread for thread in threading.enumerate() if not _is_harmless(thread)]
        for thread in held:
            thread.join(_PATIENCE_S)
        if any(thread.is_alive() for thread in held):
            with suppress(OSError):
                if error is not None:
                    traceback.print_exception(kind, error, trace)
                sys.stderr.flush()
            os._exit(EXIT_FAILED)

    def _put_back(self, modes: list[Any]) -> None:
        import termios

        with suppress(OSError, termios.error):
            sys.stdout.write(_PLAIN)
            sys.stdout.flush()
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, modes)


def _modes() -> list[Any] | None:
    import termios

    try:
        return termios.tcgetattr(sys.stdin.fileno())
    except (OSError, termios.error):
        return None  # it is gone


def _is_harmless(thread: threading.Thread) -> bool:
    return thread.daemon or thread is threading.main_thread()
