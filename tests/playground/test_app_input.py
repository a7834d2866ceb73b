from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events
from textual.widgets import TextArea

from core.model import CancelLevel, Event
from playground.adapter import INTERVAL, Batcher
from playground.commands import APP, RUN
from playground.keys import SETTLE
from playground.screens.help import page
from playground.state.stream import StreamText
from tests.playground.events import Script
from tests.playground.stage import StagedApp, held, staged, weather
from tests.support.waiting import until


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


async def test_the_lines_of_a_paste_end_as_a_terminal_sends_them(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        app.post_message(events.Paste("one\rtwo\r\nthree\nfour"))
        await until(lambda: app.shown.form.prompt.text == "one\ntwo\nthree\nfour", "the paste")
        await app.shown.action_options()
        await pilot.pause()
        system = app.shown.query_one("#system", TextArea)
        system.focus()
        await pilot.pause()
        app.post_message(events.Paste("a\rb\x1b[2J"))
        await until(lambda: system.text == "a\nb␛[2J", "the paste")


@pytest.mark.parametrize("key", ["ctrl+q", "f5", "ctrl+enter", "f3", "ctrl+p", "ctrl+n"])
async def test_no_command_key_inside_a_paste_does_anything(tmp_path: Path, key: str) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        # A terminal that lets the end marker of a bracketed paste stand in what is pasted.
        app.post_message(events.Paste("all of it"))
        app.post_message(events.Key(key, None))
        _burst(app, " and the rest")
        await until(lambda: app.shown.form.prompt.text == "all of it and the rest", "the paste")
        await pilot.pause(2 * SETTLE)
        assert app.is_running
        assert app.shown.view is None
        assert app.screen is app.shown


async def test_a_command_key_that_ends_a_burst_does_its_work_when_nothing_follows(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        _burst(app, "weather?")
        app.post_message(events.Key("f5", None))
        await until(lambda: app.shown.view is not None, "the run")
        await app.ended(pilot)
        assert app.view.request["prompt"] == "weather?"


@pytest.mark.parametrize("start", ["enter", "f5"])
@pytest.mark.parametrize("stop", ["f8", "ctrl+c"])
async def test_a_cancel_key_right_behind_the_start_is_not_lost(
    tmp_path: Path, start: str, stop: str
) -> None:
    async with staged(tmp_path, {"scripted": held()}) as (app, pilot):
        app.fill()
        await pilot.pause()
        # Both wait in the queue, as they do on a busy machine.
        app.post_message(events.Key(start, None))
        app.post_message(events.Key(stop, None))
        await until(lambda: app.shown.view is not None and app.level() is not None, "the cancel")
        assert app.level() is CancelLevel.BOUNDARY


async def test_a_cancel_key_drops_an_enter_that_is_held_back(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        _burst(app, "weather?\n")
        app.post_message(events.Key("f8", None))
        await pilot.pause(2 * SETTLE)
        assert app.shown.view is None
        assert app.shown.form.prompt.text == "weather?"


async def test_tabs_in_a_burst_are_text_and_the_lines_around_them_run_nothing(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        for character in "def f():\n\treturn 1":
            key = {"\n": "enter", "\t": "tab"}.get(character, character)
            app.post_message(events.Key(key, character))
        await until(lambda: app.shown.form.prompt.text == "def f():\n\treturn 1", "the text")
        await pilot.pause(2 * SETTLE)
        assert app.shown.view is None


async def test_an_enter_held_back_runs_nothing_once_the_focus_left(tmp_path: Path) -> None:
    async with staged(tmp_path, {"scripted": weather()}) as (app, pilot):
        _burst(app, "weather?\n")
        app.shown.steps.focus()
        await pilot.pause()
        await pilot.pause(2 * SETTLE)
        assert app.shown.view is None
