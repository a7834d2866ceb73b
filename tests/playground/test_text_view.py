from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from playground.state.block import Block, Tone
from playground.state.stream import SHOWN, StreamText
from playground.state.wrap import wrap_line
from playground.widgets.text_view import TextView
from playground.widgets.toned import TONES


class TextApp(App[None]):
    COMPONENT_CLASSES: ClassVar[set[str]] = TONES

    def __init__(self) -> None:
        super().__init__()
        self.body = TextView()

    def compose(self) -> ComposeResult:
        yield self.body

    def lines(self) -> list[str]:
        return [self.body.render_line(y).text.rstrip() for y in range(self.body.size.height)]


@asynccontextmanager
async def _view(size: tuple[int, int] = (20, 6)) -> AsyncIterator[tuple[TextApp, Pilot[None]]]:
    app = TextApp()
    async with app.run_test(size=size) as pilot:
        yield app, pilot


async def test_text_is_wrapped_at_words_and_again_when_the_width_changes() -> None:
    async with _view() as (app, pilot):
        app.body.show("a", [Block("the quick brown fox jumps over the lazy dog")])
        assert app.lines()[:3] == ["the quick brown fox", "jumps over the lazy", "dog"]
        await pilot.resize_terminal(12, 6)
        await pilot.pause()
        assert app.lines()[:3] == ["the quick", "brown fox", "jumps over"]


async def test_tones_share_a_row_and_a_hanging_text_is_indented() -> None:
    async with _view() as (app, _):
        app.body.show(
            "a", [Block("label ", Tone.DIM), Block("one two three four five\n", hang=6), Block("x")]
        )
        assert app.lines()[:3] == ["label one two three", "      four five", "x"]
        assert app.body.text.startswith("label one two three")


async def test_a_stream_grows_at_its_end_only(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped: list[str] = []

    def spy(line: str, width: int) -> list[str]:
        wrapped.append(line)
        return wrap_line(line, width)

    async with _view() as (app, _):
        stream = StreamText("the quick ")
        app.body.show("a", [Block("head\n", Tone.TITLE), Block(stream)])
        monkeypatch.setattr("playground.widgets.text_view.wrap_line", spy)
        for word in ("brown ", "fox ", "jumps ", "over\nthe ", "lazy dog"):
            stream.append(word)
            app.body.grow()
        assert app.body.text == "head\nthe quick brown fox jumps over\nthe lazy dog"
        assert max(map(len, wrapped)) <= 20 + len("the lazy dog")


async def test_the_view_stays_at_the_end_until_it_is_scrolled_away() -> None:
    async with _view() as (app, pilot):
        stream = StreamText("0\n")
        app.body.show("a", [Block(stream)], end=True)
        for number in range(1, 30):
            stream.append(f"{number}\n")
            app.body.grow()
        await pilot.pause()
        assert "29" in app.lines()
        app.body.scroll_to(y=3, animate=False)
        stream.append("30\n")
        app.body.grow()
        await pilot.pause()
        assert app.lines()[0] == "3"


async def test_what_is_not_kept_is_counted_in_the_last_row() -> None:
    async with _view((60, 6)) as (app, pilot):
        stream = StreamText("x" * 5_000_000)
        app.body.show("a", [Block(stream)], end=True)
        await pilot.pause()
        hidden = 5_000_000 - SHOWN
        assert f"… {hidden:,} of 5,000,000 characters".replace(",", " ") in app.lines()[-1]
        stream.append("y" * 10)
        app.body.grow()
        await pilot.pause()
        assert f"of {5_000_010:,}".replace(",", " ") in app.lines()[-1]


async def test_a_replaced_text_is_laid_out_anew() -> None:
    async with _view() as (app, _):
        stream = StreamText("partial guess")
        app.body.show("a", [Block(stream)])
        stream.replace("the whole truth")
        app.body.grow()
        assert app.body.text == "the whole truth"


async def test_a_selection_copies_the_text_without_the_breaks_of_wrapping() -> None:
    async with _view() as (app, _):
        app.body.show("a", [Block("the quick brown fox jumps over\nthe lazy dog")])
        picked = app.body.get_selection(Selection(Offset(4, 0), Offset(8, 2)))
        assert picked == ("quick brown fox jumps over\nthe lazy", "\n")


async def test_a_line_end_cut_in_two_is_still_one_line_end() -> None:
    async with _view() as (app, _):
        stream = StreamText()
        app.body.show("a", [Block(stream)])
        for piece in ("one\r", "\ntwo\r", "\n"):
            stream.append(piece)
            app.body.grow()
        assert app.body.text == "one\ntwo\n"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(alphabet="ab 漢\n\x1b[\u202e", max_size=30), max_size=12))
async def test_growing_by_pieces_shows_what_showing_the_whole_shows(pieces: list[str]) -> None:
    app = TextApp()
    async with app.run_test(size=(20, 6)):
        stream = StreamText()
        app.body.show("a", [Block(stream)])
        for piece in pieces:
            stream.append(piece)
            app.body.grow()
        grown = app.body.text
        app.body.show("b", [Block("".join(pieces))])
        assert app.body.text == grown
