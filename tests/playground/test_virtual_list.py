from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.strip import Strip

from playground.safe import Cell, safe_strip
from playground.widgets.virtual_list import VirtualList


class Numbers(VirtualList):
    drawn = 0

    def render_row(self, index: int, width: int, selected: bool) -> Strip:
        self.drawn += 1
        return safe_strip([Cell(f"row {index}", grow=True)], width)


class ListApp(App[None]):
    def __init__(self, follow: bool) -> None:
        super().__init__()
        self.list = Numbers(follow=follow)
        self.heard: list[tuple[str, int]] = []

    def compose(self) -> ComposeResult:
        yield self.list

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        self.heard.append(("highlighted", event.index))

    def on_virtual_list_selected(self, event: VirtualList.Selected) -> None:
        self.heard.append(("selected", event.index))

    def lines(self) -> list[str]:
        return [self.list.render_line(y).text.rstrip() for y in range(self.list.size.height)]


@asynccontextmanager
async def _list(
    rows: int, *, follow: bool = False
) -> AsyncIterator[tuple[ListApp, Numbers, Pilot[None]]]:
    app = ListApp(follow)
    async with app.run_test(size=(30, 10)) as pilot:
        app.list.row_count = rows
        app.list.focus()
        await pilot.pause()
        yield app, app.list, pilot


async def test_a_million_rows_draw_only_what_is_seen() -> None:
    async with _list(1_000_000) as (app, numbers, pilot):
        await pilot.press("end")
        await pilot.pause()
        assert numbers.selected == 999_999
        assert app.lines()[-1] == "row 999999"
        assert numbers.drawn < 100
        assert len(numbers.children) == 0


async def test_the_keys_move_and_stop_at_both_ends() -> None:
    async with _list(25) as (app, numbers, pilot):
        for key, row in (
            ("up", 0),
            ("down", 1),
            ("j", 2),
            ("k", 1),
            ("pagedown", 10),
            ("pageup", 1),
            ("G", 24),
            ("down", 24),
            ("g", 0),
        ):
            await pilot.press(key)
            assert numbers.selected == row, key
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.heard[-1] == ("selected", 1)
        assert ("highlighted", 24) in app.heard


async def test_a_click_moves_and_a_double_click_chooses() -> None:
    async with _list(25) as (app, numbers, pilot):
        await pilot.click(numbers, offset=(3, 4))
        assert numbers.selected == 4
        await pilot.double_click(numbers, offset=(3, 6))
        await pilot.pause()
        assert ("selected", 6) in app.heard


async def test_following_ends_off_the_tail_and_begins_again_on_it() -> None:
    async with _list(5, follow=True) as (_, numbers, pilot):
        numbers.row_count = 30
        await pilot.pause()
        assert numbers.selected == 29
        assert numbers.scroll_offset.y == 20
        await pilot.press("up")
        numbers.row_count = 31
        await pilot.pause()
        assert numbers.selected == 28
        await pilot.press("end")
        numbers.row_count = 32
        await pilot.pause()
        assert numbers.selected == 31


async def test_the_wheel_ends_following_too() -> None:
    async with _list(50, follow=True) as (_, numbers, pilot):
        await pilot._post_mouse_events([_scroll_up()], numbers, offset=(2, 2))
        await pilot.pause()
        at = numbers.scroll_offset.y
        assert not numbers.follow
        numbers.row_count = 60
        await pilot.pause()
        assert numbers.scroll_offset.y == at


def _scroll_up() -> type:
    from textual.events import MouseScrollUp

    return MouseScrollUp


async def test_fewer_rows_keep_the_cursor_inside() -> None:
    async with _list(30) as (_, numbers, pilot):
        await pilot.press("end")
        numbers.row_count = 4
        await pilot.pause()
        assert numbers.selected == 3
        numbers.row_count = 0
        await pilot.pause()
        assert numbers.selected == -1
        await pilot.press("down", "enter")
        assert numbers.selected == -1


async def test_a_changed_row_is_drawn_anew_and_its_neighbours_are_not() -> None:
    async with _list(8) as (_, numbers, pilot):
        before = numbers.drawn
        numbers.refresh_row(3)
        await pilot.pause()
        assert numbers.drawn == before + 1
