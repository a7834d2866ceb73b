from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.app_terminal import START, Tmux, app_environment
from tests.e2e.cli_process import ask, command, demo_server, stats, wait_for

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@contextmanager
def _app(
    folder: Path, *, pace: float = 1.0, size: tuple[int, int] = (100, 30), **more: str
) -> Iterator[Tmux]:
    tmux = Tmux(START, app_environment(folder, pace, **more), folder, size)
    try:
        tmux.until("What should the agent do?", "Run", "Cancel")
        yield tmux
    finally:
        tmux.close()


def _run(tmux: Tmux, scene: str, prompt: str = "Go on") -> None:
    """Choose a scene, type a prompt and press Enter, as a person does."""
    tmux.press("Tab")
    tmux.press("Enter")
    tmux.until("demo/weather")
    tmux.type(scene)
    wait_for(lambda: scene in tmux.screen(), scene)
    tmux.press("Enter")
    wait_for(lambda: f"demo/{scene}" in tmux.screen().splitlines()[4], "the choice")
    tmux.press("BTab")
    tmux.type(prompt)
    tmux.until(prompt)
    tmux.press("Enter")


def test_cancel_shows_its_phase_at_once_and_the_run_ends_at_its_boundary(tmp_path: Path) -> None:
    with demo_server(tmp_path, pace=0.05) as url, _app(tmp_path, PLAYGROUND_DEMO_URL=url) as tmux:
        _run(tmux, "essay")
        tmux.until("● running", "● model")
        tmux.press("F8")
        tmux.until("cancelling · after model call", "press again to abort")
        tmux.until("■ cancelled at the boundary", "nothing")
        (model,) = [entry for entry in stats(url) if entry["kind"] == "model"]
        assert model["end"] == "complete"
        _, [row] = ask(tmp_path, "runs", "list")
        assert row["status"] == "cancelled"


def test_pressed_twice_the_socket_closes_and_the_partial_answer_is_kept(tmp_path: Path) -> None:
    with (
        demo_server(tmp_path) as url,
        _app(tmp_path, size=(130, 40), PLAYGROUND_DEMO_URL=url) as tmux,
    ):
        _run(tmux, "essay")
        tmux.until("● running", "● model")
        tmux.press("Escape")
        tmux.until("press again to abort")
        _press_again(tmux)
        tmux.until("cancelled by abort", "partial answer", "On stopping", "cut short")
        (model,) = [entry for entry in stats(url) if entry["kind"] == "model"]
        assert model["end"] == "disconnected"
        code, rows = ask(tmp_path, "audit", "list", "--action", "http_call_cancelled")
        assert (code, len(rows)) == (0, 1)


def _press_again(tmux: Tmux) -> None:
    """Press once more, when the first press has been on the screen for a second."""
    wait_for(
        lambda: re.search(r"cancelling · [^●]*[1-9]\.\d s · press again", tmux.screen()), "1 s"
    )
    tmux.press("Escape")


def test_a_run_of_another_process_is_watched_and_stopped_through_its_row(tmp_path: Path) -> None:
    with (
        demo_server(tmp_path, pace=0.3) as url,
        command(
            tmp_path, "run", "x", "--model", "demo/essay", "--json", PLAYGROUND_DEMO_URL=url
        ) as other,
    ):
        other.event("delta")
        with _app(tmp_path, PLAYGROUND_DEMO_URL=url) as tmux:
            tmux.press("F4")
            tmux.until("running", "demo/essay")
            tmux.press("Enter")
            tmux.until("● running", "attached")
            tmux.press("C-c")
            _press_again(tmux)
            tmux.until("■ cancelled by abort")
            assert other.end() == 4
            assert other.records[-1]["kind"] == "cancelled"
            tmux.press("C-q")
            tmux.until("left with 0")


def test_a_pasted_log_line_presses_nothing(tmp_path: Path) -> None:
    line = "log: \x1b[31mERROR\x1b[0m y\nsecond line \x1b[2J y\n"
    with _app(tmp_path) as tmux:
        tmux.paste(line)
        tmux.until("ERROR", "second line")
        tmux.press("F4")
        tmux.until("No run yet")
        tmux.press("F2")
        tmux.press("Escape")
        tmux.paste(line)
        tmux.press("F4")
        tmux.until("No run yet")
        assert ask(tmp_path, "runs", "list") == (0, [])
        tmux.press("C-q")
        tmux.until("left with 0")


def test_pasted_lines_stand_below_each_other_and_pasted_keys_do_not_leave(tmp_path: Path) -> None:
    with _app(tmp_path) as tmux:
        tmux.paste("one\ntwo\x1b[201~\x11 three\n\tfour five")
        screen = tmux.until("│  one", "four five")
        assert "␍" not in screen
        tmux.press("F4")
        tmux.until("No run yet")
        tmux.press("C-q")
        tmux.until("left with 0")


def test_a_cancel_key_right_behind_enter_is_not_lost(tmp_path: Path) -> None:
    with _app(tmp_path) as tmux:
        tmux.type("Weather?")
        tmux.until("Weather?")
        tmux.press("Enter", "F8")
        tmux.until("■ cancelled")
        tmux.press("C-q")
        tmux.until("left with 0")


@pytest.mark.parametrize("size", [(80, 24), (60, 20)], ids=str)
def test_a_small_terminal_is_enough(tmp_path: Path, size: tuple[int, int]) -> None:
    with _app(tmp_path, pace=0.0, size=size) as tmux:
        tmux.type("Weather?")
        tmux.press("Enter")
        tmux.until("✓ completed")
        tmux.press("C-q")
        tmux.until("left with 0")
