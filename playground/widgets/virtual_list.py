"""A list of any length that is drawn line by line: nothing is mounted per row."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from playground.widgets.line_scroll import LineScroll

_CACHED_LINES = 512


class VirtualList(LineScroll, can_focus=True):
    """Base of every list: subclass it and draw one row at a time.

    A subclass implements ``render_row`` and sets ``row_count``; it calls ``refresh_rows``
    or ``refresh_row`` when rows changed. Rows are numbered from 0.

    Attributes:
        row_count: how many rows there are.
        selected: the row with the cursor, -1 if there is none.
        follow: keep the cursor on the last row as rows are added. Moving the cursor off the
            last row ends it, moving back onto it begins it again.
        tails: whether this list follows its tail at all.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"virtual-list--cursor", "virtual-list--hover"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First", show=False),
        Binding("end,G", "last", "Last", show=False),
        Binding("enter", "choose", "Choose", show=False),
    ]
    DEFAULT_CSS = """
    VirtualList {
        & > .virtual-list--cursor { background: $primary 15%; }
        & > .virtual-list--hover { background: $block-hover-background; }
        &:focus > .virtual-list--cursor { background: $primary 35%; }
    }
    """

    row_count: reactive[int] = reactive(0, init=False)
    selected: reactive[int] = reactive(-1, init=False, repaint=False)
    follow: reactive[bool] = reactive(False, init=False)
    hovered: reactive[int] = reactive(-1, init=False, repaint=False)

    class Highlighted(Message):
        """The cursor moved, by a key, the mouse, or because rows came or went."""

        def __init__(self, widget: VirtualList, index: int) -> None:
            super().__init__()
            self.widget = widget
            self.index = index

        @property
        def control(self) -> VirtualList:
            """Return the list."""
            return self.widget

    class Selected(Message):
        """A row was chosen with Enter or a double click."""

        def __init__(self, widget: VirtualList, index: int) -> None:
            super().__init__()
            self.widget = widget
            self.index = index

        @property
        def control(self) -> VirtualList:
            """Return the list."""
            return self.widget

    def __init__(
        self,
        *,
        follow: bool = False,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.tails = follow
        self.set_reactive(VirtualList.follow, follow)
        self._lines: LRUCache[tuple[int, int, bool, bool], Strip] = LRUCache(_CACHED_LINES)

    def render_row(self, index: int, width: int, selected: bool) -> Strip:
        """Draw one row: a strip of ``width`` columns, made with ``playground.safe``.

        The background of the cursor and of the mouse is laid under it afterwards.
        """
        raise NotImplementedError

    def refresh_row(self, index: int) -> None:
        """Draw one row anew."""
        for key in [key for key in self._lines.keys() if key[0] == index]:  # noqa: SIM118
            self._lines.discard(key)
        self.refresh_line(index)

    def refresh_rows(self) -> None:
        """Draw every visible row anew."""
        self._lines.clear()
        self.refresh()

    def scroll_to_row(self, index: int) -> None:
        """Scroll as little as it takes to see a row."""
        top, height = round(self.scroll_y), self.scrollable_content_region.height
        if index < top:
            self.scroll_to_line(index)
        elif height and index >= top + height:
            self.scroll_to_line(index - height + 1)

    def watch_row_count(self) -> None:
        """Fit the scroll range and keep the cursor on a row."""
        self.fit_lines(self.row_count)
        last = self.row_count - 1
        if self.follow:
            self.to_tail()
        elif self.selected > last:
            self.selected = last
        elif self.selected < 0 and last >= 0:
            self.selected = 0
        self.refresh()

    def validate_selected(self, index: int) -> int:
        """Keep the cursor inside the list."""
        return max(-1 if self.row_count == 0 else 0, min(index, self.row_count - 1))

    def watch_selected(self, before: int, index: int) -> None:
        """Show the row with the cursor and tell who listens."""
        self.refresh_line(before)
        self.refresh_line(index)
        self.scroll_to_row(index)
        self.post_message(self.Highlighted(self, index))

    def watch_follow(self, follow: bool) -> None:
        """Go to the tail when following begins."""
        if follow:
            self.to_tail()

    def tail(self) -> int:
        """Return the row that following stays on: the last one."""
        return self.row_count - 1

    def to_tail(self) -> None:
        """Put the cursor on the tail, with the last row in view if there is room for both."""
        self.selected = self.tail()
        self.scroll_to_row(self.row_count - 1)
        self.scroll_to_row(self.selected)

    def watch_hovered(self, before: int, index: int) -> None:
        """Draw both rows anew."""
        self.refresh_line(before)
        self.refresh_line(index)

    def render_line(self, y: int) -> Strip:
        """Draw one line of the view; Textual calls this."""
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        base = self.rich_style
        if index >= self.row_count:
            return Strip.blank(self.size.width, base)
        selected = index == self.selected
        key = (index, width, selected, self.has_focus)
        strip = self._lines.get(key)
        if strip is None:
            strip = self.render_row(index, width, selected)
            self._lines[key] = strip
        if selected:
            base += self.get_component_rich_style("virtual-list--cursor")
        elif index == self.hovered:
            base += self.get_component_rich_style("virtual-list--hover")
        return strip.extend_cell_length(width).apply_style(base)

    def on_resize(self) -> None:
        """Fit the width and keep the cursor in view."""
        self.fit_lines(self.row_count)
        self.scroll_to_row(self.selected)

    def notify_style_update(self) -> None:
        """Forget drawn lines: their colours changed."""
        super().notify_style_update()
        self._lines.clear()

    def action_move(self, rows: int) -> None:
        """Move the cursor by some rows."""
        self.go_to(self.selected + rows)

    def action_page(self, pages: int) -> None:
        """Move the cursor by some pages."""
        self.go_to(self.selected + pages * max(1, self.scrollable_content_region.height - 1))

    def action_first(self) -> None:
        """Go to the first row."""
        self.go_to(0)

    def action_last(self) -> None:
        """Go to the last row."""
        self.go_to(self.row_count - 1)

    def action_choose(self) -> None:
        """Choose the row with the cursor."""
        if self.selected >= 0:
            self.post_message(self.Selected(self, self.selected))

    def go_to(self, index: int) -> None:
        """Move the cursor to a row, as a key does."""
        self.selected = index
        if self.tails:
            self.follow = self.selected >= self.tail()

    def _row_at(self, event: events.MouseEvent) -> int:
        offset = event.get_content_offset(self)
        if offset is None:
            return -1
        index = offset.y + self.scroll_offset.y
        return index if index < self.row_count else -1

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the row; a double click chooses it."""
        index = self._row_at(event)
        if index >= 0:
            self.go_to(index)
            if event.chain == 2:
                self.action_choose()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Mark the row under the mouse."""
        self.hovered = self._row_at(event)

    def on_leave(self) -> None:
        """Unmark it."""
        self.hovered = -1

    def on_mouse_scroll_up(self) -> None:
        """Stop following: the reader wants to see what came before."""
        if self.tails and self.max_scroll_y > 0:
            self.follow = False
