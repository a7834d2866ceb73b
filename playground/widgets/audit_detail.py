"""One row of the audit log, whole."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message

from core.model import AuditRow, Badge
from playground.safe import Part, SafeStatic
from playground.state.audit import details, meaning
from playground.state.audit_words import GLYPHS

_MUTED = "$foreground 60%"
_TONES = {
    Badge.NEUTRAL: "bold",
    Badge.SUCCESS: "bold $text-success",
    Badge.INFO: "bold $text-primary",
    Badge.WARNING: "bold $text-warning",
    Badge.DANGER: "bold $text-error",
}


class AuditDetail(VerticalScroll, can_focus=True):
    """What the action means, then every field of the row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,p", "step(-1)", "Newer", show=False),
        Binding("right,n", "step(1)", "Older", show=False),
    ]

    class Step(Message):
        """Show the row that many rows further down."""

        def __init__(self, rows: int) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.row: AuditRow | None = None

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        yield SafeStatic()

    def show(self, row: AuditRow | None, bad: str = "") -> None:
        """Show a row.

        Args:
            row: the row; None while it is being read.
            bad: what the last verification found wrong with it.
        """
        self.row = row
        self.query_one(SafeStatic).show(*(_parts(row, bad) if row else ["…"]))
        self.scroll_home(animate=False)

    def action_step(self, rows: int) -> None:
        """Go to another row without leaving the detail."""
        self.post_message(self.Step(rows))


def _parts(row: AuditRow, bad: str) -> list[Part]:
    badge = row.action.badge
    parts: list[Part] = [
        (f"{GLYPHS[badge]} {row.action.value}", _TONES[badge]),
        "\n",
        (meaning(row), _MUTED),
        "\n",
    ]
    if bad:
        parts += [(f"✗ this row is {bad}: it is not what was written", "bold $text-error"), "\n"]
    for name, text in details(row):
        if name == "action":
            continue
        parts += ["\n", (f"{name:<11}", _MUTED), text]
    return parts
