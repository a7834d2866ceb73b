"""What is drawn line by line and scrolls up and down."""

from __future__ import annotations

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget


class LineScroll(ScrollView):
    """A view on a number of lines. More lines never lay out the screen anew."""

    DEFAULT_CSS = """
    LineScroll { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """

    def fit_lines(self, lines: int) -> None:
        """Say how many lines there are.

        Assigning ``virtual_size`` would have the whole screen arranged and drawn, twenty
        times a second while something streams. Only a scrollbar that comes or goes needs it.
        """
        size = Size(self.scrollable_content_region.width, lines)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)

    def scroll_to_line(self, line: int) -> None:
        """Make a line the first one in view, or come as near as the end allows."""
        self.scroll_to(y=line, animate=False, force=True)
