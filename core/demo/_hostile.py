"""Text that attacks whoever shows it. Every line is harmless once it is shown as text."""

from __future__ import annotations

from functools import cache

LONG_LINE_CHARACTERS = 5_000_000

TOOL_NAME = "get_weather\x1b[31m[bold]\u202e"
CITY = "Lis\x1b[2Jbon \u202e gnp.exe [@click=app.quit]here[/]"

TEXT = "\n".join(
    (
        "Clear the screen: \x1b[2J\x1b[H\x1b[3J and move: \x1b[10;10H.",
        "Colours that never end: \x1b[31;1mred \x1b[7mreversed.",
        "Another title: \x1b]0;not your terminal\x07 and clipboard: \x1b]52;c;aGVsbG8=\x07.",
        "A link that lies: \x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\.",
        "Device strings: \x1bP+q544e\x1b\\ \x1b_Gi=1\x1b\\ \x1b^private\x1b\\.",
        "Ask the terminal to type: \x1b[6n \x1b[c \x1b[21t \x05.",
        "Another screen: \x1b[?1049h, mouse: \x1b[?1003h, paste: \x1b[200~quit\x1b[201~.",
        "One byte does it too: \x9b2J \x9d0;title\x9c \x90q\x9c \x85.",
        "Overwritten\rHidden     , erased\x08\x08\x08\x08\x08\x08, bell \x07, null \x00, del \x7f.",
        "Right to left: \u202egpj.exe\u202c, isolated: \u2067abc\u2069, marks: \u200e\u200f\u061c.",
        "Invisible: zero\u200bwidth, joiner\u2060, mark\ufeff, soft\u00adhyphen, tag\U000e0041.",
        "Half a character: \ud800, no character: \ufffe\uffff, lines: \u2028\u2029.",
        "Markup: [bold red]red[/] [link=http://evil.example]x[/link] [@click=app.quit]press[/]",
        "Unbalanced: [/] [[ ]] \\[ [red [/bold] {0} %s ${HOME} `code` <b>html</b>",
        "Wide and joined: 漢字 👩‍👩‍👧‍👦 🏳️‍🌈 Z̸̢͓̈͘a̵͙͐l̶̮̈g̷͎̈́o e\u0301\u0301\u0301",
    )
)


@cache
def long_line() -> str:
    """Return one line of ``LONG_LINE_CHARACTERS`` without a space, with an escape at its end."""
    ending = "\x1b[2J"
    return ("0123456789" * (LONG_LINE_CHARACTERS // 10))[: -len(ending)] + ending
