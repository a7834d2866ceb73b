"""The app from the first moment: it paints, and only then opens the runtime.

Loading the core, opening a database and building the screens takes longer than a terminal
should stay black. The runtime still outlives the screen: the caller owns it.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from playground.app import STYLES, PlaygroundApp
from playground.safe import SafeStatic
from playground.widgets.title_bar import TitleBar

if TYPE_CHECKING:
    from core import Runtime


def settle_heap() -> None:
    """Take what is loaded by now out of the garbage collector's sight.

    The classes, styles and widgets stay until the end; a collector that walks them all
    while something streams holds up the keys by 60 ms, several times a second.
    """
    gc.freeze()


class OpeningScreen(Screen[None]):
    """What there is to see meanwhile."""

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield TitleBar("run")
        yield SafeStatic("opening …", id="opening")


class OpeningApp(PlaygroundApp):
    """A ``PlaygroundApp`` whose runtime is still to come.

    Keys that come meanwhile go to the run screen.

    Args:
        opener: opens the runtime; called once, after the first paint.

    Attributes:
        failure: why the runtime did not open; the app has left then.
    """

    CSS_PATH = [STYLES / "tokens.tcss"]  # noqa: RUF012 - typed by the base class
    DEFAULT_MODE = "opening"

    def __init__(self, opener: Callable[[], Awaitable[Runtime]]) -> None:
        super().__init__(cast("Runtime", None))
        self._opener = opener
        self.failure: Exception | None = None
        self._early: list[events.Event] | None = []
        self.add_mode("opening", OpeningScreen)

    def on_mount(self) -> None:
        """Open the runtime when the first picture is out."""
        # In the app's own queue, so that keys and signals wait behind it.
        self.call_after_refresh(self.call_later, self._open)

    async def on_event(self, event: events.Event) -> None:
        """Keep keys for the screen that is to come."""
        if self._early is not None and isinstance(event, events.Key | events.Paste):
            self._early.append(event)
        else:
            await super().on_event(event)

    async def _open(self) -> None:
        try:
            self.runtime = await self._opener()
        except Exception as error:
            self.failure = error
            self.exit()
            return
        for path in PlaygroundApp.CSS_PATH:
            self.stylesheet.read(path)
        self.stylesheet.parse()
        await self.switch_mode("run")
        # At once, and not by way of the queue: the keys that waited come next.
        self.run_screen.set_focus(self.run_screen.form.prompt)
        early, self._early = self._early or [], None
        for event in early:
            await self.on_event(event)
        self.call_after_refresh(settle_heap)
