"""Long text, wrapped and drawn line by line; what streams costs only its new end."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.selection import Selection
from textual.strip import Strip

from playground.safe import Cell, safe_lines, safe_row, safe_strip
from playground.state.block import Block, Tone
from playground.state.format import count
from playground.state.stream import StreamText
from playground.state.wrap import wrap_line
from playground.widgets.line_scroll import LineScroll
from playground.widgets.toned import Toned

_Piece = tuple[str, Tone]


class _Row:
    """One row on the screen: pieces in tones, and whether a newline ends it."""

    __slots__ = ("ends", "pieces")

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        self.pieces = pieces
        self.ends = False

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)


class TextView(LineScroll, Toned, can_focus=True):
    """Shows blocks of text in tones.

    The last block may grow: ``grow`` draws what came since. While the view is at its end it
    stays there.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "scroll_up", "Up", show=False),
        Binding("j", "scroll_down", "Down", show=False),
        Binding("g", "scroll_home", "Top", show=False),
        Binding("G", "scroll_end", "End", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.key: Hashable = None
        self._blocks: Sequence[Block] = ()
        self._rows: list[_Row] = []
        self._width = 0
        self._taken = 0
        self._generation = 0

    @property
    def text(self) -> str:
        """Return the text as it is shown, without wrapping."""
        return "".join(f"{row.text}\n" if row.ends else row.text for row in self._rows)

    @property
    def hidden(self) -> int:
        """Return how many characters of the last block are not shown."""
        stream = self._stream()
        return stream.hidden if stream else 0

    def show(
        self, key: Hashable, blocks: Sequence[Block], *, keep: bool = False, end: bool = False
    ) -> None:
        """Show another text.

        Args:
            key: names it, for whoever asks what is shown.
            blocks: the text.
            keep: it continues what is shown: stay at this place, or at the end.
            end: else go to its end instead of its start.
        """
        self.key, self._blocks = key, blocks
        self._lay_out(stay=keep and self._at_end)
        if not keep:
            self.scroll_to_line(self.max_scroll_y if end else 0)

    def grow(self) -> None:
        """Draw what was added to the last block."""
        stream = self._stream()
        if stream is None:
            return
        if stream.generation != self._generation:
            self._lay_out(stay=self._at_end)
            return
        # A CR may be the first half of a line end whose second half is still to come.
        piece = stream.kept[self._taken :].removesuffix("\r")
        if not piece and not stream.hidden:
            return
        stay = self._at_end
        first = max(0, len(self._rows) - 1)
        self._append(piece, self._blocks[-1])
        self._taken += len(piece)
        self._fit(stay=stay)
        self.refresh_lines(first, len(self._rows) - first + 1)

    @property
    def _at_end(self) -> bool:
        return round(self.scroll_y) >= self.max_scroll_y

    def _stream(self) -> StreamText | None:
        text = self._blocks[-1].text if self._blocks else None
        return text if isinstance(text, StreamText) else None

    def _lay_out(self, *, stay: bool) -> None:
        self._width = self.scrollable_content_region.width
        self._rows = []
        if not self._width:
            return
        for block in self._blocks:
            text = block.text
            self._append(text.kept if isinstance(text, StreamText) else text, block)
        stream = self._stream()
        self._taken = len(stream.kept) if stream else 0
        self._generation = stream.generation if stream else 0
        self._fit(stay=stay)
        self.refresh()

    def _fit(self, *, stay: bool) -> None:
        self.fit_lines(len(self._rows) + (1 if self.hidden else 0))
        if stay:
            self.scroll_to_line(self.max_scroll_y)

    def _append(self, piece: str, block: Block) -> None:
        if not piece:
            return
        rows = self._rows
        for number, line in enumerate(safe_lines(piece)):
            if number and rows:
                rows[-1].ends = True
            before: Sequence[_Piece] = ()
            if number == 0 and rows and not rows[-1].ends:
                before = rows.pop().pieces
            rows.extend(_wrap(before, (line, block.tone), self._width, block.hang))

    def render_line(self, y: int) -> Strip:
        """Draw one line of the view; Textual calls this."""
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        base = self.rich_style
        if index < len(self._rows):
            pieces = self._rows[index].pieces
            strip = safe_row([(text, self.tone(tone)) for text, tone in pieces], width)
            strip = self._select(strip, index)
        elif index == len(self._rows) and self.hidden:
            stream = self._stream()
            total = stream.total if stream else 0
            note = f"… {count(self.hidden)} of {count(total)} characters are not shown"
            strip = safe_strip([Cell(note, self.tone(Tone.WARN), grow=True)], width)
        else:
            return Strip.blank(self.size.width, base)
        return strip.apply_style(base).apply_offsets(0, index)

    def _select(self, strip: Strip, index: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(index) if selection is not None else None
        if span is None:
            return strip
        start, end = span
        text = self._rows[index].text
        left, right = cell_len(text[:start]), cell_len(text if end == -1 else text[:end])
        style = self.screen.get_component_rich_style("screen--selection")
        before, middle, after = strip.divide([left, right, strip.cell_length])
        return Strip.join([before, middle.apply_style(style), after])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, without the line breaks that wrapping made."""
        parts: list[str] = []
        for index, row in enumerate(self._rows):
            span = selection.get_span(index)
            if span is None:
                continue
            start, end = span
            parts.append(row.text[start : None if end == -1 else end])
            if end == -1 and row.ends:
                parts.append("\n")
        return "".join(parts), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    def on_resize(self) -> None:
        """Wrap anew where the width changed."""
        if self.scrollable_content_region.width != self._width:
            self._lay_out(stay=self.max_scroll_y > 0 and self._at_end)
        else:
            self._fit(stay=False)


def _wrap(before: Sequence[_Piece], piece: _Piece, width: int, hang: int) -> Iterator[_Row]:
    """Wrap an open row with a piece after it; each piece keeps its tone."""
    line, tone = piece
    if not hang and all(other is tone for _, other in before):
        text = "".join(text for text, _ in before) + line
        yield from (_Row(((row, tone),)) for row in wrap_line(text, width))
        return
    pieces = [item for item in (*before, piece) if item[0]]
    hang = min(hang, width // 2)
    for number, row in enumerate(_hung("".join(text for text, _ in pieces), width, hang)):
        taken: list[_Piece] = [(" " * hang, tone)] if number and hang else []
        room = len(row)
        while room and pieces:
            text, tone = pieces[0]
            taken.append((text[:room], tone))
            pieces[:1] = [(text[room:], tone)] if len(text) > room else []
            room -= min(room, len(text))
        yield _Row(taken)


def _hung(text: str, width: int, hang: int) -> list[str]:
    rows = wrap_line(text, width)
    if not hang or len(rows) == 1:
        return rows
    return [rows[0], *wrap_line(text[len(rows[0]) :], width - hang)]
