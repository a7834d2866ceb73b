"""The one way text gets on the screen.

Whatever a model, a tool or a server wrote is harmless after ``core.text``; this module is
the only one that hands text to Textual (a test reads the others' syntax trees), and
``ControlFilter`` is the last gate behind it. Nothing here parses markup.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from core.text import KnownSecrets, display, redact
from core.text import line as one_line

Part = str | tuple[str, str]
"""A piece of text, or a piece and its style (``"bold $accent"``)."""

# Emoji that are one glyph in some terminals and several in others would shift the rest of
# the row into the next pane: shown as the glyphs they are made of.
_JOINED = re.compile(
    "[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]|(?<=[\u2190-\u2bff\U0001f000-\U0001faff])\u200d"
)
_FLAG_LETTER = re.compile("[\U0001f1e6-\U0001f1ff]")
_FLAG_BASE = 0x1F1E6

TAB = "    "

_TITLES: WeakKeyDictionary[Widget, tuple[str, str]] = WeakKeyDictionary()

_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)


def safe_line(text: str) -> str:
    """Return ``text`` as one harmless line whose cell width every terminal agrees on."""
    text = one_line(text)
    return text if text.isascii() else _steady(text)


def _steady(text: str) -> str:
    text = _JOINED.sub("", text)
    return _FLAG_LETTER.sub(lambda found: chr(ord(found[0]) - _FLAG_BASE + ord("A")), text)


def safe_lines(text: str) -> list[str]:
    """Return ``text`` as harmless lines without tabs, ready to be wrapped."""
    text = display(text)
    return (text if text.isascii() else _steady(text)).replace("\t", TAB).split("\n")


def safe_text(*parts: Part) -> Content:
    """Return harmless content of several lines; a style may use the theme's variables."""
    pieces: list[str | tuple[str, str]] = []
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        text = display(text)
        pieces.append((text if text.isascii() else _steady(text), style))
    return Content.assemble(*pieces)


def safe_option(text: str) -> Text:
    """Return one line as the prompt of an option; lists of options search in it."""
    return Text(safe_line(text), no_wrap=True)


class SafeStatic(Static):
    """A Static that takes any text and shows it as text."""

    def __init__(
        self,
        *parts: Part,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
        expand: bool = False,
    ) -> None:
        super().__init__(safe_text(*parts), id=id, classes=classes, expand=expand, markup=False)

    def show(self, *parts: Part) -> None:
        """Replace the text."""
        self.update(safe_text(*parts))


def safe_notify(
    app: App[Any],
    text: str,
    *,
    title: str = "",
    severity: Literal["information", "warning", "error"] = "information",
    timeout: float | None = None,
) -> None:
    """Show a notification."""
    app.notify(
        display(text), title=safe_line(title), severity=severity, timeout=timeout, markup=False
    )


def safe_title(widget: Widget, title: str, subtitle: str = "") -> None:
    """Set the titles on a widget's border; nothing is drawn if they are the same."""
    if _TITLES.get(widget) == (title, subtitle):
        return
    _TITLES[widget] = (title, subtitle)
    widget.border_title = Content(safe_line(title)) if title else None
    widget.border_subtitle = Content(safe_line(subtitle)) if subtitle else None


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of a line.

    Attributes:
        text: what it shows; anything.
        style: its Rich style, or None.
        width: columns, or None: as wide as its text.
        right: align to the right.
        grow: takes the room that is left (at most one cell of a line).
        tail: where it does not fit, show its end.
    """

    text: str
    style: Style | None = None
    width: int | None = None
    right: bool = False
    grow: bool = False
    tail: bool = False


def safe_strip(cells: Iterable[Cell], width: int, gap: int = 1) -> Strip:
    """Lay cells side by side on one line of exactly ``width`` columns.

    A text that does not fit ends in ``…``. The growing cell gives way first.
    """
    row = [(cell, safe_line(cell.text)) for cell in cells]
    widths = [cell_len(text) if cell.width is None else cell.width for cell, text in row]
    fixed = sum(
        size for (cell, _), size in zip(row, widths, strict=True) if not cell.grow
    ) + gap * (len(row) - 1)
    segments: list[Segment] = []
    for place, ((cell, text), size) in enumerate(zip(row, widths, strict=True)):
        room = max(0, width - fixed) if cell.grow else size
        if place and gap:
            segments.append(Segment(" " * gap))
        segments.append(Segment(_fit(text, room, cell), cell.style))
    return Strip(segments).adjust_cell_length(max(0, width))


def _fit(text: str, width: int, cell: Cell) -> str:
    length = cell_len(text)
    if length > width:
        if width <= 0:
            return ""
        return _end(text, width) if cell.tail else set_cell_size(text, width - 1) + "…"
    pad = " " * (width - length)
    return pad + text if cell.right else text + pad


def _end(text: str, width: int) -> str:
    kept = text[-(width - 1) :] if width > 1 else ""
    while cell_len(kept) > width - 1:
        kept = kept[1:]
    return "…" + kept + " " * (width - 1 - cell_len(kept))


def safe_row(pieces: Iterable[tuple[str, Style | None]], width: int) -> Strip:
    """Return a row of what ``safe_lines`` returned, after wrapping."""
    return Strip([Segment(text, style) for text, style in pieces]).adjust_cell_length(width)


def safe_crash(error: BaseException, known: KnownSecrets | None = None) -> Text:
    """Return a traceback to print after the screen is gone: no locals, no secrets."""
    text = "".join(traceback.format_exception(error))
    if known is not None:
        text = known.mask(text)
    return Text(display(redact(text)), no_wrap=True)


class ControlFilter(LineFilter):
    """Replaces what could control a terminal in every line about to be written.

    Text is made harmless where it enters; this is the net below, and a test keeps it on.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments with each forbidden character as U+FFFD."""
        for text, _, control in segments:
            if not control and not (text.isascii() and text.isprintable()):
                break
        else:
            return segments
        return [
            Segment(_FORBIDDEN.sub("\ufffd", text), style, control)
            if not control and _FORBIDDEN.search(text)
            else Segment(text, style, control)
            for text, style, control in segments
        ]
