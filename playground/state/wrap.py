"""Word wrapping by terminal cells that only ever changes the last row when text is added."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import get_character_cell_size


def wrap_line(line: str, width: int) -> list[str]:
    """Wrap one line without newlines and tabs into rows of at most ``width`` cells.

    Greedy: a row breaks after its last space that fits, or inside a word that is longer
    than a row. Every row but the last stays what it is when text is appended, and the rows
    joined are the line. A glyph wider than ``width`` has a row of its own.
    """
    width = max(1, width)
    return list(_ascii_rows(line, width) if line.isascii() else _wide_rows(line, width))


def _ascii_rows(line: str, width: int) -> Iterator[str]:
    start, size = 0, len(line)
    while size - start > width:
        cut = line.rfind(" ", start, start + width) + 1
        if cut <= start:
            cut = start + width
        yield line[start:cut]
        start = cut
    yield line[start:]


def _wide_rows(line: str, width: int) -> Iterator[str]:
    start = cells = space = 0
    for index, char in enumerate(line):
        size = get_character_cell_size(char)
        while cells + size > width and index > start:
            cut = space if space > start else index
            yield line[start:cut]
            start = cut
            cells = sum(map(get_character_cell_size, line[start:index]))
        cells += size
        if char == " ":
            space = index + 1
    yield line[start:]
