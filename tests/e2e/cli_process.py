"""The command line as a process of its own."""

from __future__ import annotations

import io
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import IO, Any, TypeVar
from unittest.mock import patch

import core

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0

T = TypeVar("T")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment with a home, a key and a database below ``folder``."""
    return {
        **os.environ,
        "HOME": str(folder),
        "PLAYGROUND_DB": str(folder / "runs.db"),
        "PLAYGROUND_KEY_FILE": str(folder / "key" / "master.key"),
        "PYTHONPATH": str(ROOT),
        **more,
    }


def wait_for(condition: Callable[[], T], what: str) -> T:
    """Return the first true value of ``condition``.

    Raises:
        AssertionError: there was none in time.
    """
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what}")


class Command:
    """A running command line. Its stderr is read all the time, its stdout when asked.

    Args:
        folder: where its home and its database are.
        argv: the command line.
        pace: the demo's pace.
        more: further environment variables.
        ignore_hangup: start it as ``nohup`` would.
        stdout: where its stdout goes; None: a pipe.
    """

    def __init__(
        self,
        folder: Path,
        *argv: str,
        pace: float = 1.0,
        ignore_hangup: bool = False,
        stdout: IO[str] | None = None,
        **more: str,
    ) -> None:
        start = [sys.executable, "-m", "core", *argv]
        if ignore_hangup:
            start = ["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *start]
        self.process = subprocess.Popen(
            start,
            cwd=folder,
            env=environment(folder, PLAYGROUND_DEMO_PACE=str(pace), **more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if stdout is None else stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.errors: list[str] = []
        self._news: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._read_errors, daemon=True)]
        self._threads[0].start()

    def read_stdout(self) -> Command:
        """Begin to read stdout."""
        self._threads.append(threading.Thread(target=self._read_lines, daemon=True))
        self._threads[-1].start()
        return self

    def event(self, kind: str, *, count: int = 1) -> dict[str, Any]:
        """Return the next JSON line of this kind, the ``count``-th from here."""
        while True:
            line = self._news.get(timeout=PATIENCE_S)
            assert line is not None, f"ended without {kind}: {self.errors}"
            record: dict[str, Any] = json.loads(line)
            if record["kind"] == kind:
                count -= 1
                if not count:
                    return record

    def says(self, text: str) -> None:
        """Wait until stderr has this text."""
        wait_for(lambda: any(text in line for line in self.errors), f"{text!r} in {self.errors}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self) -> int:
        """Return the exit code, once everything it wrote has been read."""
        code = self.process.wait(PATIENCE_S)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return code

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every JSON line read so far."""
        return [json.loads(line) for line in self.lines]

    def close(self) -> None:
        """Kill it if it still runs; close the pipes."""
        if self.process.poll() is None:
            self.process.kill()
        self.end()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _read_lines(self) -> None:
        for line in _stream(self.process.stdout):
            self.lines.append(line)
            self._news.put(line)
        self._news.put(None)

    def _read_errors(self) -> None:
        self.errors.extend(_stream(self.process.stderr))


def _stream(pipe: IO[str] | None) -> Iterator[str]:
    assert pipe is not None
    yield from pipe


@contextmanager
def command(folder: Path, *argv: str, **options: Any) -> Iterator[Command]:
    """Start a command whose stdout is read; it does not outlive the block."""
    started = Command(folder, *argv, **options).read_stdout()
    try:
        yield started
    finally:
        started.close()


def ask(folder: Path, *argv: str) -> tuple[int, list[dict[str, Any]]]:
    """Run a command line in this process; return its exit code and its JSON lines."""
    printed = io.StringIO()
    with patch.dict(os.environ, environment(folder)), redirect_stdout(printed):
        code = core.main([*argv, "--json"])
    return code, [json.loads(line) for line in printed.getvalue().splitlines()]


@contextmanager
def demo_server(folder: Path, **options: Any) -> Iterator[str]:
    """Serve the demo in a process of its own and give its URL."""
    with command(folder, "demo-server", "--json", **options) as server:
        wait_for(lambda: server.lines or server.process.poll() is not None, "the server's URL")
        yield json.loads(server.lines[0])["url"]


def stats(url: str) -> list[dict[str, Any]]:
    """Return what a demo server was asked."""
    with urllib.request.urlopen(f"{url}/_stats", timeout=PATIENCE_S) as answer:
        found: list[dict[str, Any]] = json.load(answer)["requests"]
        return found
