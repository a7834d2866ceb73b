"""Every key on one page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from playground.commands import APP, AUDIT, LISTS, PROMPT, RUN, RUNS, Command
from playground.safe import safe_title
from playground.state.block import Block, Tone
from playground.widgets.text_view import TextView

_KEY_WIDTH = 20


class HelpScreen(ModalScreen[None]):
    """A page over the screen; any of its keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q,enter", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        with Vertical(id="help"):
            yield TextView(id="help-text")

    def on_mount(self) -> None:
        """Write the page."""
        safe_title(self.query_one("#help"), "help", "esc closes")
        self.query_one(TextView).show("help", [*page()])


def page() -> Iterator[Block]:
    """Return the page, made from the table of commands."""
    yield Block(
        "Type a prompt, press Enter, watch it work.\n"
        "Cancel stops at the next step boundary; pressed again, it aborts the call in flight.\n"
        "Nothing starts after the first press.\n"
    )
    yield from _section("everywhere", _keys(APP))
    yield from _section("run screen", _keys(RUN))
    yield from _section("prompt", PROMPT)
    yield from _section("lists", LISTS)
    yield from _section("audit", AUDIT)
    yield from _section("runs", RUNS)


def _keys(commands: Iterable[Command]) -> Iterator[tuple[str, str]]:
    for command in commands:
        yield command.keys.replace(",", ", "), f"{command.title}. {command.help}"


def _section(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[Block]:
    yield Block(f"\n{title}\n", Tone.TITLE)
    for keys, text in rows:
        shown = keys.replace("left_square_bracket", "[").replace("right_square_bracket", "]")
        yield Block(f"  {shown.ljust(_KEY_WIDTH)}", Tone.ACCENT)
        yield Block(f"{text}\n", hang=_KEY_WIDTH + 2)
