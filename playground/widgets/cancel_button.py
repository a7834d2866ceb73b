"""The cancel button, which says where the cancel stands."""

from __future__ import annotations

from rich.cells import cell_len
from textual.widgets import Button

from playground.safe import safe_text
from playground.state.run import Phase, RunView
from playground.state.summary import cancel_labels


class CancelButton(Button):
    """Button ``#cancel``. It takes the longest of its labels that fits."""

    def __init__(self) -> None:
        super().__init__("Cancel", id="cancel", compact=True, disabled=True)
        self._labels = ["Cancel"]
        # A button ignores presses while it shows the last one; here the ladder judges them.
        self.active_effect_duration = 0

    @property
    def says(self) -> str:
        """Return what it would say with all the room in the world."""
        return self._labels[0]

    def show(self, view: RunView | None, now_us: int) -> None:
        """Show where a run's cancel stands."""
        live = view is not None and view.phase.live
        self.disabled = not live
        self.set_class(view is not None and view.phase is Phase.CANCELLING, "-cancelling")
        self.set_class(view is not None and view.phase is Phase.ABORTING, "-aborting")
        labels = cancel_labels(view, now_us)
        if labels != self._labels:
            self._labels = labels
            self._fit()

    def _fit(self) -> None:
        room = self.content_size.width - 2
        fitting = [text for text in self._labels if cell_len(text) <= room]
        self.label = safe_text(fitting[0] if fitting else self._labels[-1])

    def on_resize(self) -> None:
        """Choose the label for the new width."""
        self._fit()
