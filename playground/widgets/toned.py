"""From a tone to the theme's colour: what every line-drawn widget does."""

from __future__ import annotations

from typing import Any

from rich.style import Style
from textual.app import App
from textual.widget import Widget

from playground.state.block import Tone

TONES = {f"tone--{tone}" for tone in Tone}


class Toned(Widget):
    """Mix-in of widgets that draw text in tones; ``styles/tokens.tcss`` colours them.

    The app carries the tones for all its widgets (``COMPONENT_CLASSES`` has ``TONES``):
    each widget that did would be styled anew in every tone whenever a screen is.
    """

    _tones: dict[Tone, Style] | None = None

    def tone(self, tone: Tone) -> Style:
        """Return a tone as a style without a background."""
        if self._tones is None:
            self._tones = {}
        style = self._tones.get(tone)
        if style is None:
            style = self._tones[tone] = _foreground(self.app, tone)
        return style

    def notify_style_update(self) -> None:
        """Forget the colours: the theme changed."""
        super().notify_style_update()
        self._tones = None


def _foreground(app: App[Any], tone: Tone) -> Style:
    full = app.get_component_styles(f"tone--{tone}").rich_style
    return Style(color=full.color, bold=full.bold, italic=full.italic, underline=full.underline)
