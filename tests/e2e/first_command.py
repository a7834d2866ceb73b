"""Run a command under a terminal of its own, see the playground's screen, leave it.

Used by ``.ci/run`` with README's first command; exits 0 if the screen was usable.
"""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import sys
import termios
import time
from fcntl import ioctl

_PATIENCE_S = 180.0
_WANTED = (b"prompt", b"Run", b"Cancel")
_CTRL_Q = b"\x11"


def main(command: str) -> int:
    """Return the command's exit code, or 1 if its screen never came."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp("bash", ["bash", "-c", command])
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    seen = _read_until(terminal, lambda text: all(word in text for word in _WANTED))
    if seen is None:
        print("the screen did not come", file=sys.stderr)
        os.kill(pid, 9)
        return 1
    os.write(terminal, _CTRL_Q)
    _read_until(terminal, lambda text: False)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _read_until(terminal: int, enough: object) -> bytes | None:
    text = b""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if not ready:
            continue
        try:
            chunk = os.read(terminal, 65_536)
        except OSError:
            return None
        if not chunk:
            return None
        text += chunk
        if callable(enough) and enough(re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", text)):
            return text
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
