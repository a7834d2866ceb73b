from __future__ import annotations

import asyncio
from pathlib import Path

from textual import events

from core.model import Event
from playground.adapter import INTERVAL, Batcher
from playground.commands import APP, RUN
from playground.screens.help import page
from playground.state.stream import StreamText
from tests.playground.events import Script
from tests.playground.stage import StagedApp, held, staged, weather
from tests.support.runtime import until


def _burst(app: StagedApp, text: str) -> None:
    """Send keys all at once, as a terminal sends what was pasted."""
    for character in text:
        key = {"\n": "enter", "\x1b": "circumflex_accent"}.get(character, character)
        app.post_message(events.Key(key, "\r" if character == "\n" else character))


async def test_enter_inside_a_burst_is_a_new_line(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, _):
        _burst(app, "one\ntwo\nthree")
        await until(lambda: app.shown.form.prompt.text == "one\ntwo\nthree", "the text")
        assert app.shown.view is None


async def test_a_paste_cut_up_by_an_escape_runs_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        # What Textual makes of a bracketed paste with escapes in it: keys, then the rest.
        _burst(app, "\x1b[31mERROR\x1b[0m y\n")
        app.post_message(events.Paste("log: "))
        await until(lambda: "log: " in app.shown.form.prompt.text, "the paste")
        await pilot.pause()
        assert app.shown.view is None


async def test_an_enter_that_ends_a_burst_runs_when_nothing_follows(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        _burst(app, "weather?\n")
        await until(lambda: app.shown.view is not None, "the run")
        await app.ended(pilot)
        assert app.view.request["prompt"] == "weather?"


async def test_a_burst_presses_no_button_and_no_letter_key(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        app.fill()
        app.shown.query_one("#run").focus()
        await pilot.pause()
        _burst(app, "log zzz\n")
        await pilot.pause()
        assert app.shown.view is None
        assert not app.shown.has_class("-zoom")


async def test_pasted_controls_are_shown_in_the_prompt_and_not_sent(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, _):
        app.post_message(events.Paste("a\x1b[2J\u202eb\r\nc"))
        await until(lambda: app.shown.form.prompt.text == "a␛[2J⟨RLO⟩b\nc", "the paste")


async def test_an_input_method_may_commit_several_characters_at_once(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, _):
        _burst(app, "こんにちは")
        await until(lambda: app.shown.form.prompt.text == "こんにちは", "the text")


async def test_two_thousand_pieces_a_second_mount_nothing_and_paint_twenty_times(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path, {"scripted": held()}, size=(120, 36)) as (app, pilot):
        session = app.shown._open()
        script = Script()
        batches: list[int] = []
        session._take([script.started(), script.assembled(), script.request()])
        await pilot.pause()
        before = len([*app.shown.walk_children()])
        deliver = session._take

        def count(got: list[Event]) -> None:
            batches.append(len(got))
            deliver(got)

        batcher = Batcher(count)
        loop = asyncio.get_running_loop()
        begun, sent, offset = loop.time(), 0, 0
        while sent < 2_000:
            while sent < 2_000 and sent < (loop.time() - begun) * 2_000:
                batcher.put(script.delta(f"word {sent}\n", offset))
                offset += len(f"word {sent}\n")
                sent += 1
            await asyncio.sleep(0.001)
        batcher.flush()
        took = loop.time() - begun
        await pilot.pause()
        assert len(batches) <= took / INTERVAL + 3
        assert set(batches) == {1}
        assert len([*app.shown.walk_children()]) == before
        assert app.view.rows[1].text.kept.endswith("word 1999\n")


def test_no_two_commands_share_a_key_or_an_id() -> None:
    commands = (*APP, *RUN)
    keys = [key for command in commands for key in command.keys.split(",")]
    assert len(keys) == len(set(keys))
    assert len({command.id for command in commands}) == len(commands)


def test_the_help_page_names_every_command() -> None:
    said = "".join(
        block.text.kept if isinstance(block.text, StreamText) else block.text for block in page()
    )
    for command in (*APP, *RUN):
        assert command.title in said
        assert command.help in said
