from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from textual import events
from textual.pilot import Pilot

from playground.state.run import Phase
from tests.fakes.provider import ScriptedProvider, Turn
from tests.playground.stage import ANSWER, StagedApp
from tests.snapshots.conftest import SIZES, Snap, name
from tests.support.waiting import until

_ESSAY = [f"{ANSWER} ", "Tomorrow the wind turns north and the rain ends. "] * 4
_HOSTILE = (
    "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[31mred\x1b[0m \x9b31m \u202eabc\u202c [red]markup[/red] [/ "
    "[@click=app.quit]x[/] a\rb \x08\x08 \x00\x01 \x1b]8;;http://evil\x07click\x1b]8;;\x07 "
    "\u200b\ufeff 👩\u200d👩\u200d👧 漢字 e\u0301\n"
)


@pytest.mark.parametrize("size", SIZES, ids=name)
def test_streaming(snap: Snap, tmp_path: Path, size: tuple[int, int]) -> None:
    model = ScriptedProvider(
        [
            Turn(calls=[("get_weather", '{"city": "Bergen"}')]),
            Turn(pieces=_ESSAY, text="".join(_ESSAY), hold=True),
        ]
    )

    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        await app.start(pilot)
        await until(model.holding.is_set)
        app.time.advance(4.2)
        await until(lambda: app.view.rows[-1].text.kept == "".join(_ESSAY))
        app.shown._tick()
        assert app.view.phase is Phase.RUNNING
        assert len(app.view.live_rows) == 1

    snap(StagedApp(tmp_path, {"scripted": model}), act, size)


@pytest.mark.parametrize("size", SIZES, ids=name)
def test_hostile_text_is_shown_harmlessly(
    snap: Snap, tmp_path: Path, size: tuple[int, int]
) -> None:
    model = ScriptedProvider(
        [
            Turn(calls=[("\x1b[2Jevil", _HOSTILE)], thinking=_HOSTILE),
            Turn(text=_HOSTILE * 3 + "x" * 5_000_000),
        ]
    )

    async def act(app: StagedApp, pilot: Pilot[None]) -> None:
        app.post_message(events.Paste("[/ \x1b[2J \u202e hostile"))
        await until(lambda: app.shown.form.prompt.text)
        await app.start(pilot, prompt=app.shown.form.prompt.text)
        await app.ended(pilot)
        await pilot.press("up")
        await pilot.pause()
        assert app.view.phase is Phase.COMPLETED
        assert app.view.rows[-1].text.hidden > 4_000_000

    snap(StagedApp(tmp_path, {"scripted": model}), act, size)


def test_every_committed_picture_is_well_formed() -> None:
    pictures = [*Path(__file__).parent.rglob("*.svg")]
    assert pictures
    for picture in pictures:
        ElementTree.parse(picture)
