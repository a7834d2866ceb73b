"""Boxes whose tick can be read without its colour."""

from __future__ import annotations

from textual.content import Content
from textual.strip import Strip
from textual.widgets import Checkbox, SelectionList


class Tick(Checkbox):
    """A checkbox whose box is empty where it is off."""

    @property
    def _button(self) -> Content:
        self.BUTTON_INNER = "X" if self.value else " "
        return super()._button


class TickList(SelectionList[str]):
    """A list of choices whose boxes are empty where they are off."""

    def render_line(self, y: int) -> Strip:
        """Draw one line; Textual calls this."""
        strip = super().render_line(y)
        index = self.scroll_offset.y + y
        if index >= self.option_count or self.get_option_at_index(index).value in self.selected:
            return strip
        left, inner, *rest = strip
        return Strip([left, inner._replace(text=" "), *rest])
