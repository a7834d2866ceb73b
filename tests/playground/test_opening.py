from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events

from core import Runtime
from core.errors import StoreError
from playground.opening import OpeningApp
from playground.widgets.prompt_area import PromptArea
from playground.widgets.title_bar import TitleBar
from tests.playground.stage import weather
from tests.support.runtime import scripted_runtime
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def thaw() -> Iterator[None]:
    yield
    gc.unfreeze()


async def test_it_paints_before_it_opens_and_keys_typed_meanwhile_reach_the_prompt(
    tmp_path: Path,
) -> None:
    asked, go = asyncio.Event(), asyncio.Event()
    async with scripted_runtime(tmp_path, {"scripted": weather()}) as runtime:

        async def opener() -> Runtime:
            asked.set()
            await go.wait()
            return runtime

        app = OpeningApp(opener)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(asked.is_set)
            assert app.screen.query_one(TitleBar).is_on_screen
            for key in "hey":
                app.post_message(events.Key(key, key))
            go.set()
            await until(lambda: app.current_mode == "run", "the run screen")
            await until(
                lambda: [area.text for area in app.run_screen.query(PromptArea)] == ["hey"],
                "the keys",
            )
            await pilot.pause()
            assert app.run_screen.query_one("#controls").region.height == 1


class EagerApp(OpeningApp):
    """Its keyboard is faster than its first picture."""

    def on_mount(self) -> None:
        for character in "so ":
            self.post_message(events.Key(character, character))
        self.post_message(events.Paste("early\r" * 2_000))


async def test_keys_and_a_paste_from_before_the_first_picture_reach_the_prompt(
    tmp_path: Path,
) -> None:
    async with scripted_runtime(tmp_path, {"scripted": weather()}) as runtime:

        async def opener() -> Runtime:
            return runtime

        app = EagerApp(opener)
        async with app.run_test(size=(80, 24)):
            app.post_message(events.Key("x", "x"))
            typed = "so " + "early\n" * 2_000 + "x"
            await until(
                lambda: [area.text for area in app.screen.query(PromptArea)] == [typed],
                "what was typed",
            )


async def test_a_store_that_does_not_open_ends_the_app_with_its_reason() -> None:
    async def opener() -> Runtime:
        raise StoreError("This is no database.", where="runs.db")

    app = OpeningApp(opener)
    async with app.run_test():
        await until(lambda: app.failure is not None)
    assert isinstance(app.failure, StoreError)


@pytest.mark.parametrize("module", ["pycurl", "pydantic", "aiosqlite", "core.runtime"])
def test_the_first_paint_waits_for_nothing_heavy(module: str) -> None:
    code = f"import sys, playground.opening; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
