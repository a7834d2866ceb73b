"""The actions of the log with their counts: what the table can be narrowed to."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from playground.safe import Cell, safe_strip
from playground.state.audit import Facet
from playground.state.audit_words import GLYPHS, TONES
from playground.state.block import Tone
from playground.state.format import count
from playground.widgets.toned import Toned
from playground.widgets.virtual_list import VirtualList


class AuditFacets(VirtualList, Toned):
    """One line an action: chosen or not, sign, name, count. Several may be chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "choose", "Choose"),
    ]

    class Picked(Message):
        """Somebody picked a line."""

        def __init__(self, facet: Facet) -> None:
            super().__init__()
            self.facet = facet

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.facets: tuple[Facet, ...] = ()

    def show(self, facets: tuple[Facet, ...]) -> None:
        """Show these lines; the cursor stays on its action."""
        if facets == self.facets:
            return
        before = (
            self.facets[self.selected].action if 0 <= self.selected < len(self.facets) else None
        )
        self.facets = facets
        self.row_count = len(facets)
        places = {facet.action: place for place, facet in enumerate(facets)}
        self.selected = places.get(before, 0)
        self.refresh_rows()

    def action_choose(self) -> None:
        """Pick the line with the cursor."""
        if 0 <= self.selected < len(self.facets):
            self.post_message(self.Picked(self.facets[self.selected]))

    def on_click(self, event: events.Click) -> None:
        """Pick the line that was clicked."""
        index = self._row_at(event)
        if index >= 0:
            self.selected = index
            self.action_choose()

    def render_row(self, index: int, width: int, selected: bool) -> Strip:
        """Draw one line."""
        facet = self.facets[index]
        chosen = self.tone(Tone.ACCENT) if facet.action and facet.chosen else None
        return safe_strip(
            [
                Cell("▌" if chosen else " ", chosen),
                Cell(GLYPHS[facet.badge] if facet.action else " ", self.tone(TONES[facet.badge])),
                Cell(facet.name, chosen, grow=True),
                Cell(count(facet.rows), self.tone(Tone.DIM)),
            ],
            width,
        )
