from __future__ import annotations

import os
import pty
import re
import select
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cli_process import PATIENCE_S, ask, environment, wait_for


class Terminal:
    """A command line on a terminal of its own.

    ``screen`` is every byte it was sent.
    """

    def __init__(self, folder: Path, *argv: str, pace: float = 0.0) -> None:
        command = [sys.executable, "-m", "core", *argv]
        variables = environment(folder, PLAYGROUND_DEMO_PACE=str(pace), TERM="xterm-256color")
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, command, variables)
        self.screen = b""
        self.code: int | None = None

    def until(self, text: str) -> None:
        """Read until the screen has had this text."""
        wait_for(lambda: self._read() and text.encode() in self.screen, f"{text!r} on the screen")

    def press(self, keys: bytes) -> None:
        """Type."""
        os.write(self.master, keys)

    def end(self) -> int:
        """Return the exit code, once it has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while self.code is None and time.monotonic() < deadline:
            self._read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        assert self.code is not None, self.screen
        while self._read():
            pass
        return self.code

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        if self.code is None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        if self.master >= 0:
            os.close(self.master)

    def _read(self) -> bool:
        if self.master < 0 or not select.select([self.master], [], [], 0.05)[0]:
            return bool(self.screen) and self.code is None
        try:
            piece = os.read(self.master, 65_536)
        except OSError:
            return False
        self.screen += piece
        return bool(piece)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for terminal in made:
        terminal.close()


def test_ctrl_c_cancels_and_a_second_one_aborts(tmp_path: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(tmp_path, "run", "x", "--model", "demo/essay", pace=1)
    terminals.append(terminal)
    terminal.until("On stopping")
    terminal.press(b"\x03")
    terminal.until("once more aborts it")
    terminal.press(b"\x03")
    assert terminal.end() == 4
    assert b"\xe2\x96\xa0 cancelled" in terminal.screen
    assert b"Traceback" not in terminal.screen
    _, [row] = ask(tmp_path, "runs", "list")
    assert (row["status"], row["cancelling"]) == ("cancelled", False)


def test_closed_terminal_stops_the_run_and_keeps_its_last_write(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    terminal = Terminal(tmp_path, "run", "x", "--model", "demo/essay", pace=0.02)
    terminals.append(terminal)
    terminal.until("On stopping")
    terminal.hang_up()
    assert terminal.end() == 4
    _, [row] = ask(tmp_path, "runs", "list")
    assert row["status"] == "cancelled"
    _, events = ask(tmp_path, "runs", "events", row["run_id"])
    assert [event["kind"] for event in events[-3:]] == ["cancel_requested", "response", "cancelled"]
    assert events[-1]["receipt"]["reason"] == "SIGHUP"
    assert events[-2]["outcome"] == "ok"


def test_hostile_scene_sends_the_terminal_no_control_byte(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    terminal = Terminal(tmp_path, "run", "x", "--model", "demo/hostile")
    terminals.append(terminal)
    assert terminal.end() == 0
    assert len(terminal.screen) > 100_000
    text = terminal.screen.decode().replace("\r\n", "\n")
    assert not re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_secret_is_asked_for_without_echo(tmp_path: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(tmp_path, "secret", "set", "my-key")
    terminals.append(terminal)
    terminal.until("Value (not shown): ")
    assert not termios.tcgetattr(terminal.master)[3] & termios.ECHO
    terminal.press(b"canary-value\n")
    assert terminal.end() == 0
    assert b"my-key: created" in terminal.screen
    assert b"canary" not in terminal.screen
    _, [info] = ask(tmp_path, "secret", "list")
    assert info["name"] == "my-key"


def test_doctor_describes_the_terminal(tmp_path: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(tmp_path, "doctor")
    terminals.append(terminal)
    assert terminal.end() == 0
    assert b"TERM=xterm-256color" in terminal.screen
