"""Text from a model, a tool or a server, made safe to print.

What could control a terminal, reorder a line or hide in it is replaced by something a
reader sees; the rest stays as it is. Sources: ECMA-48 (C0, C1), Unicode TR 9 (bidi
controls), TR 36 (invisible characters), Unicode 15 chapter 23.7 (noncharacters).
"""

from __future__ import annotations

import re
import unicodedata

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# One variation selector after a base picks a glyph; a run of them carries hidden bytes.
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_INVISIBLE = (
    "\u00ad\u034f\u070f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
# Scripts in which U+200C between two letters is spelling; elsewhere it only hides.
_JOINING = (
    "\u0620-\u06d3\u0710-\u07ff\u0840-\u085f\u08a0-\u0dff\u1000-\u109f\u1780-\u17b3"
    "\u17b6-\u17dd\u1820-\u18aa\ua840-\ua871\ufb50-\ufdcf\ufe70-\ufefc"
)
_NONCHARACTERS = "\ufdd0-\ufdef\ufffe\uffff" + "".join(
    f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000)
)

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    f"{_BIDI}{_INVISIBLE}{_NONCHARACTERS}]"
    f"|(?<=[{_SELECTORS}])[{_SELECTORS}]"
    f"|\u200c(?![{_JOINING}])|(?<![{_JOINING}])\u200c"
)

_ESCAPES = {chr(code): chr(0x2400 + code) for code in range(0x20)}
_ESCAPES |= {"\x7f": "␡", "\x85": "\n", "\u2028": "\n", "\u2029": "\n"}
_NAMES = {
    "\u00ad": "SHY",
    "\u061c": "ALM",
    "\u200b": "ZWSP",
    "\u200c": "ZWNJ",
    "\u200e": "LRM",
    "\u200f": "RLM",
    "\u202a": "LRE",
    "\u202b": "RLE",
    "\u202c": "PDF",
    "\u202d": "LRO",
    "\u202e": "RLO",
    "\u2060": "WJ",
    "\u2066": "LRI",
    "\u2067": "RLI",
    "\u2068": "FSI",
    "\u2069": "PDI",
    "\ufeff": "BOM",
}


def display(text: str) -> str:
    """Return ``text`` with everything that is not plain text made visible.

    Only newline and tab remain of the control characters. ESC becomes ``␛``, other C0
    characters their pictures, C1 ``⟨U+009B⟩``; CR LF, NEL, U+2028 and U+2029 a newline;
    bidi controls and invisible characters get a name, ``⟨RLO⟩``, ``⟨ZWSP⟩``; surrogates
    and noncharacters their number. U+200D stays: emoji and scripts need it. Markup is
    left alone: whoever shows the text must not parse it.

    Displaying a displayed text changes nothing; harmless text is returned as it is.
    """
    if text.isascii() and text.isprintable():
        return text
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return _UNSAFE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    char = match[0]
    escape = _ESCAPES.get(char)
    if escape is not None:
        return escape
    return f"⟨{_NAMES.get(char) or f'U+{ord(char):04X}'}⟩"


def line(text: str, width: int | None = None) -> str:
    """Return ``text`` displayed in one line, for a title or a cell.

    A newline is shown as ``⏎``, a tab as a space; newlines at the end are dropped.

    Args:
        text: foreign text of any length.
        width: terminal cells it may take, at least 1; what is longer ends in ``…``.
    """
    if width is None:
        return _one_line(text)
    # Nothing past this can be reached, unless it is full of marks that take no cell.
    head = text[: 8 * width + 64]
    shown = _one_line(head.removesuffix("\r") if len(head) < len(text) else head)
    return _fit(shown, width, cut=len(head) < len(text))


def _one_line(text: str) -> str:
    shown = display(text)
    if "\n" not in shown and "\t" not in shown:
        return shown
    return shown.rstrip("\n").replace("\n", "⏎").replace("\t", " ")


def _fit(text: str, width: int, *, cut: bool) -> str:
    if not cut and len(text) <= width and text.isascii():
        return text
    room = 0  # how much of the text fits if the last cell is the ellipsis
    cells = 0
    for index, char in enumerate(text):
        cells += _cells(char)
        if cells <= width - 1:
            room = index + 1
        elif cells > width:
            return text[:room].rstrip("\u200d") + "…"
    return text[:room].rstrip("\u200d") + "…" if cut else text


def _cells(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
