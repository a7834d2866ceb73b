from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets.selection_list import Selection

from playground.widgets.ticks import Tick, TickList


class Boxes(App[None]):
    def compose(self) -> ComposeResult:
        yield Tick("dry run", compact=True)
        yield TickList(Selection("first", "first", True), Selection("second", "second"))


async def test_a_box_says_without_colour_whether_it_is_ticked() -> None:
    app = Boxes()
    async with app.run_test() as pilot:
        tick = app.query_one(Tick)
        assert tick.render().plain == "▐ ▌ dry run "
        tick.toggle()
        await pilot.pause()
        assert tick.render().plain == "▐X▌ dry run "


async def test_a_list_says_without_colour_which_choices_are_ticked() -> None:
    app = Boxes()
    async with app.run_test() as pilot:
        ticks = app.query_one(TickList)

        def lines() -> list[str]:
            return [ticks.render_line(y).text.strip() for y in range(3)]

        assert lines() == ["▐X▌ first", "▐ ▌ second", ""]
        ticks.toggle_all()
        await pilot.pause()
        assert lines() == ["▐ ▌ first", "▐X▌ second", ""]
