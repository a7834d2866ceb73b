from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.app_terminal import START, Pty, app_environment
from tests.e2e.cli_process import ask, demo_server

_RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?2004l")


@contextmanager
def _streaming(folder: Path, pace: float) -> Iterator[Pty]:
    """The app with a run whose second model call is in flight."""
    with demo_server(folder, pace=pace) as url:
        app = Pty(START, app_environment(folder, pace, PLAYGROUND_DEMO_URL=url), folder)
        try:
            app.until("What should the agent do?")
            app.press("Weather in Lisbon?")
            app.until("Lisbon?")
            app.press("\r")
            app.until("And the forecast")
            yield app
        finally:
            app.close()


def _last_words(folder: Path) -> list[str]:
    _, [row] = ask(folder, "runs", "list")
    assert (row["status"], row["cancelling"]) == ("cancelled", False)
    _, events = ask(folder, "runs", "events", row["run_id"])
    assert [event["seq"] for event in events] == list(range(len(events)))
    return [event["kind"] for event in events[-3:]]


def _assert_ended_at_a_boundary(folder: Path) -> None:
    asked, step, end = _last_words(folder)
    # On a slow machine the call in flight may have ended before the key arrived.
    assert step in ("response", "tool")
    assert (asked, end) == ("cancel_requested", "cancelled")


def _restored(sent: bytes) -> bool:
    tail = sent[-4_000:]
    return all(word in tail for word in _RESTORED)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["term", "hup"]
)
def test_a_signal_stops_the_run_at_its_boundary_and_restores_the_terminal(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with _streaming(tmp_path, 2.0) as app:
        app.signal(number)
        assert app.end() == code
        assert _restored(app.sent)
        assert b"Traceback" not in app.sent
        _assert_ended_at_a_boundary(tmp_path)


def test_a_closed_terminal_stops_the_run_and_keeps_its_last_write(tmp_path: Path) -> None:
    with _streaming(tmp_path, 2.0) as app:
        app.hang_up()
        assert app.end() == 129
        _assert_ended_at_a_boundary(tmp_path)


def test_a_second_signal_aborts_at_once(tmp_path: Path) -> None:
    with _streaming(tmp_path, 5.0) as app:
        app.signal(signal.SIGTERM)
        app.until("Stopping what is live")
        app.signal(signal.SIGTERM)
        assert app.end() == 143
        assert _last_words(tmp_path)[-1] == "cancelled"
        _, [row] = ask(tmp_path, "runs", "list")
        _, events = ask(tmp_path, "runs", "events", row["run_id"])
        assert events[-1]["receipt"]["level"] == "abort"


def test_ctrl_q_asks_and_leaving_keeps_the_last_write(tmp_path: Path) -> None:
    with _streaming(tmp_path, 2.0) as app:
        app.press("\x11")
        app.until("Cancel and quit")
        app.press("\t")
        app.press("\r")
        assert app.end() == 0
        assert _restored(app.sent)
        _assert_ended_at_a_boundary(tmp_path)


def test_ctrl_c_pressed_many_times_never_leaves(tmp_path: Path) -> None:
    with _streaming(tmp_path, 2.0) as app:
        app.press("\x03\x03\x03\x03\x03")
        app.until("cancelled at the boundary")
        app.press("\x03\x03")
        app.mark()
        app.press("\x1bOQ")
        os.kill(app.pid, 0)
        app.press("\x11")
        assert app.end() == 0


@pytest.mark.parametrize("broken_off", ["", "Driver.disable_input = "], ids=["", "with its keys"])
def test_an_app_that_breaks_off_while_it_ends_holds_neither_process_nor_terminal(
    tmp_path: Path, broken_off: str
) -> None:
    broken = (
        "import sys; from textual.drivers.linux_driver import LinuxDriver as Driver\n"
        "def stop(self): raise RuntimeError('broke off')\n"
        f"{broken_off}Driver.stop_application_mode = stop\n"
        "from playground.__main__ import main; sys.exit(main([]))"
    )
    app = Pty([sys.executable, "-c", broken], app_environment(tmp_path, 0.0), tmp_path)
    try:
        app.until("What should the agent do?")
        app.press("\x11")
        assert app.end() == 1
        assert _restored(app.sent)
    finally:
        app.close()


def test_without_a_terminal_it_says_how_to_run_headless(tmp_path: Path) -> None:
    done = subprocess.run(
        START,
        cwd=tmp_path,
        env=app_environment(tmp_path, 0.0),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert 'playground run "PROMPT"' in done.stderr
    assert not (tmp_path / "runs.db").exists()


def test_arguments_are_the_command_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [*START, "runs", "list", "--json"],
        cwd=tmp_path,
        env=app_environment(tmp_path, 0.0),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_store_that_cannot_be_opened_is_explained_on_a_restored_terminal(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("this is no database, and long enough to be read as one" * 9)
    app = Pty(START, app_environment(tmp_path, 0.0), tmp_path)
    try:
        assert app.end() == 2
        last = app.sent.rpartition(b"\x1b[?1049l")[2]
        assert b"runs.db" in last
        assert b"\x1b[?25h" in app.sent
        assert b"Traceback" not in app.sent
    finally:
        app.close()


def test_a_terminal_that_goes_without_a_signal_is_noticed(tmp_path: Path) -> None:
    deaf = (
        "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP]);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    app = Pty([sys.executable, "-c", deaf, *START], app_environment(tmp_path, 0.0), tmp_path)
    try:
        app.until("What should the agent do?")
        app.hang_up()
        assert app.end() == 129
    finally:
        app.close()
