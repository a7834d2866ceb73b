"""The app on a terminal: a bare PTY for bytes and signals, tmux for what a person sees."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
import uuid
from fcntl import ioctl
from pathlib import Path

from tests.e2e.cli_process import PATIENCE_S, environment, wait_for

START = [sys.executable, "-m", "playground"]
_CSI = re.compile(rb"\x1b\[[0-9;:?<>=$]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")


def app_environment(folder: Path, pace: float, **more: str) -> dict[str, str]:
    variables = environment(folder, PLAYGROUND_DEMO_PACE=str(pace), TERM="xterm-256color", **more)
    for name in ("TMUX", "COLUMNS", "LINES"):
        variables.pop(name, None)
    return variables


class Pty:
    """A program on a PTY of its own. ``sent`` is every byte the terminal got."""

    def __init__(self, command: list[str], variables: dict[str, str], cwd: Path) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(command[0], command, variables)
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.sent = b""
        self.code: int | None = None
        self._mark = 0

    def mark(self) -> None:
        """Let ``until`` look only at what comes from here on."""
        self._mark = len(self.sent)

    def until(self, text: str) -> None:
        """Read until this text was sent, styles aside."""

        def there() -> bool:
            self._read()
            return text.encode() in _CSI.sub(b"", self.sent[self._mark :])

        wait_for(there, f"{text!r} on the terminal")

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self.master, keys.encode())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self.master)
        self.master = -1

    def end(self) -> int:
        """Return the exit code, once the program has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while self.code is None and time.monotonic() < deadline:
            self._read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        assert self.code is not None, self.sent[-2_000:]
        while self._read():
            pass
        return self.code

    def close(self) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self.master >= 0:
            os.close(self.master)

    def _read(self) -> bool:
        if self.master < 0:
            time.sleep(0.01)
            return False
        if not select.select([self.master], [], [], 0.02)[0]:
            return False
        try:
            piece = os.read(self.master, 65_536)
        except OSError:
            return False
        self.sent += piece
        return bool(piece)


class Tmux:
    """A program in a tmux window of its own server."""

    def __init__(
        self, command: list[str], variables: dict[str, str], cwd: Path, size: tuple[int, int]
    ) -> None:
        self._socket = f"stepbrake-{uuid.uuid4().hex}"
        width, height = size
        self._variables = variables
        line = shlex.join(command) + "; echo left with $?; exec sleep 1000"
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), line,
            cwd=cwd,
        )  # fmt: skip

    def screen(self) -> str:
        """Return what a person sees."""
        return self._tmux("capture-pane", "-p")

    def until(self, *texts: str) -> str:
        """Wait until the screen has all these texts, and return it."""
        screen = self.screen()
        deadline = time.monotonic() + PATIENCE_S
        while not all(text in screen for text in texts):
            assert time.monotonic() < deadline, f"waited in vain for {texts} on\n{screen}"
            time.sleep(0.02)
            screen = self.screen()
        return screen

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type text."""
        self._tmux("send-keys", "-l", text)

    def paste(self, text: str) -> None:
        """Paste text as a terminal with bracketed paste does."""
        self._tmux("set-buffer", text)
        self._tmux("paste-buffer", "-p")

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *arguments: str, cwd: Path | None = None) -> str:
        return subprocess.run(
            ["tmux", "-L", self._socket, *arguments],
            check=True,
            capture_output=True,
            text=True,
            env=self._variables,
            cwd=cwd,
        ).stdout
