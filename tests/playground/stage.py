"""The real app on a real runtime, whose models, time and ids a test plays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Select

from core import CancelLevel, Clock, Runtime
from core.providers import Provider
from core.tools import Tool
from playground.app import PlaygroundApp
from playground.screens.run import RunScreen
from playground.state.run import Phase, RunView
from playground.widgets.cancel_button import CancelButton
from tests.fakes.clock import FakeClock
from tests.fakes.provider import ScriptedProvider, Turn
from tests.support.runtime import scripted_runtime
from tests.support.waiting import until

PROMPT = "What is the weather in Bergen?"
ANSWER = "It is 8 °C in Bergen, with rain from the west until the evening."


class StagedApp(PlaygroundApp):
    """Opens its runtime when it runs, so that a snapshot can drive it in a loop of its own."""

    def __init__(
        self,
        path: Path,
        providers: Mapping[str, Provider] | None = None,
        *,
        tools: Iterable[Tool] = (),
        clock: Clock | None = None,
        leaving: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(cast(Runtime, None), clock or FakeClock())
        self.animation_level = "none"
        self._path = path
        self._providers = providers
        self._own_tools = tuple(tools)
        self._leaving = leaving

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with scripted_runtime(
            self._path, self._providers, clock=self.clock, tools=self._own_tools
        ) as runtime:
            self.runtime = runtime
            yield
            self._leaving()
            # Nobody plays the models any more: what is held would be waited for.
            for run_id in runtime.live:
                await runtime.cancel(run_id, CancelLevel.ABORT)

    async def run_async(self, **options: Any) -> None:
        async with self.open():
            return await super().run_async(**options)

    @property
    def time(self) -> FakeClock:
        return cast(FakeClock, self.clock)

    @property
    def shown(self) -> RunScreen:
        return self.run_screen

    @property
    def view(self) -> RunView:
        view = self.run_screen.view
        assert view is not None
        return view

    def level(self) -> CancelLevel | None:
        return self.view.level

    def ended_as(self, phase: Phase) -> bool:
        return self.view.phase is phase

    def on(self, kind: type[Screen[Any]]) -> bool:
        return isinstance(self.screen, kind)

    @property
    def button(self) -> CancelButton:
        return self.run_screen.query_one(CancelButton)

    def fill(self, prompt: str = PROMPT, model: str = "scripted") -> None:
        self.run_screen.form.prompt.text = prompt
        self.run_screen.query_one("#model", Select).value = model

    async def start(
        self, pilot: Pilot[None], prompt: str = PROMPT, model: str = "scripted"
    ) -> None:
        """Fill the form and run it as a person does."""
        self.fill(prompt, model)
        self.run_screen.form.prompt.focus()
        await pilot.press("enter")
        await until(lambda: self.run_screen.view is not None and self.view.run_id, "a run")

    async def ended(self, pilot: Pilot[None]) -> None:
        await until(lambda: not self.view.phase.live, "the run's end")
        await until(lambda: not self.runtime.live, "the runtime to let go of the run")
        self.shown._tick()
        await pilot.pause()

    async def pressed(self, pilot: Pilot[None], key: str) -> None:
        """Press a key and let the screen show what it did."""
        await pilot.press(key)
        await pilot.pause()

    def wait_shown(self, seconds: float = 0.3) -> None:
        """Let the present state have been on the screen for some time."""
        session = self.run_screen.session
        assert session is not None
        session.painted()
        self.time.advance(seconds)


def weather(**last: Any) -> ScriptedProvider:
    """Asks for a tool, then answers; ``last`` changes the second turn."""
    return ScriptedProvider(
        [
            Turn(
                thinking="The weather is asked for, so the tool is the way.",
                calls=[("get_weather", '{"city": "Bergen"}')],
            ),
            Turn(**({"text": ANSWER} | last)),
        ]
    )


def held(*pieces: str) -> ScriptedProvider:
    """Streams some pieces and then waits to be released or aborted."""
    said = pieces or (ANSWER,)
    return ScriptedProvider([Turn(text="".join(said), pieces=said, hold=True)])


@asynccontextmanager
async def staged(
    path: Path,
    providers: Mapping[str, Provider] | None = None,
    *,
    size: tuple[int, int] = (100, 30),
    **options: Any,
) -> AsyncIterator[tuple[StagedApp, Pilot[None]]]:
    """Run the app under a pilot until the block is left."""
    app = StagedApp(path, providers, **options)
    async with app.open(), app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot
