"""A ``flock`` beside the database that writers of all processes pass one after another.

SQLite's own way of waiting starves processes (reference measurement: the slowest of four
writers got nothing for over a second); the kernel's queue of a blocking ``flock`` does not.
The gate is for fairness and for naming a frozen writer; safety stays with SQLite, so a
writer that waited too long goes on without it.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

_SHORT = 0.05


class Gate:
    """One process's end of the gate. Only one thread of ours enters at a time.

    Args:
        path: the gate's file; made with mode 0600 if it is missing.
        patience: seconds to wait; once that was in vain, 50 ms until the gate opens again.

    Attributes:
        passed_by: how often a writer went on without the gate.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, path: Path, *, patience: float) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._mark = b"%-12d" % os.getpid()
        self._patience = patience
        self._wait = patience
        self._changed = threading.Condition()
        self._wanted = False
        self._held = False
        self._waiting = False
        self._closed = False
        self.passed_by = 0

    def enter(self) -> bool:
        """Take the gate; False if somebody else kept it for too long."""
        if not self._take():
            self.passed_by += 1
            self._wait = min(self._patience, _SHORT)
            return False
        self._wait = self._patience
        if os.pread(self._fd, len(self._mark), 0) != self._mark:
            os.pwrite(self._fd, self._mark, 0)
        return True

    def leave(self) -> None:
        """Let the next one in."""
        self._held = False
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def holder(self) -> int | None:
        """Return the process that took the gate last, None if that was this one."""
        mark = os.pread(self._fd, len(self._mark), 0)
        if mark == self._mark or not mark.strip().isdigit():
            return None
        return int(mark)

    def close(self) -> None:
        """Let go of the file."""
        with self._changed:
            self._closed = True
            os.close(self._fd)

    def _take(self) -> bool:
        if not self._waiting:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                return True
        with self._changed:
            self._wanted = True
            if not self._waiting:
                self._waiting = True
                threading.Thread(target=self._wait_in_line, name="gate", daemon=True).start()
            taken = self._changed.wait_for(lambda: self._held, self._wait)
            self._wanted = False
            return taken

    def _wait_in_line(self) -> None:
        # A blocking flock has no time limit, so it has a thread that may be left waiting.
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        with self._changed:
            self._waiting = False
            if self._wanted:
                self._held = True
                self._changed.notify()
            elif not self._closed:  # else the number may be another file's by now
                fcntl.flock(self._fd, fcntl.LOCK_UN)
