"""Pictures that are the same everywhere: no blinking cursor, a known user, three sizes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

SIZES = ((120, 36), (80, 24), (60, 20))


def name(size: tuple[int, int]) -> str:
    """Return a size as a test and its picture are called."""
    return f"{size[0]}x{size[1]}"


Act = Callable[[Any, Pilot[Any]], Awaitable[None]]


class Snap(Protocol):
    """Compares a picture of an app with the committed one."""

    def __call__(self, app: App[Any], act: Act, size: tuple[int, int] = (80, 24)) -> None:
        """Run the app, let ``act`` bring it into a state and assert on it, compare."""


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    monkeypatch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda self: None)
    monkeypatch.setenv("LOGNAME", "ann")


@pytest.fixture
def snap(snap_compare: Callable[..., bool], tmp_path: Path) -> Snap:
    def compare(app: App[Any], act: Act, size: tuple[int, int] = (80, 24)) -> None:
        acted = False

        async def before(pilot: Pilot[Any]) -> None:
            nonlocal acted
            await pilot.pause()
            await act(app, pilot)
            await pilot.pause()
            acted = True

        same = snap_compare(app, terminal_size=size, run_before=before)
        assert acted, "the app ended before the state was reached"
        assert same

    return compare
