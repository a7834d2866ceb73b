"""The audit log as a screen of its own."""

from __future__ import annotations

from typing import Protocol

from textual.app import ComposeResult
from textual.screen import Screen

from playground.state.audit_source import AuditSource
from playground.widgets.audit_pane import AuditPane
from playground.widgets.key_bar import KeyBar
from playground.widgets.title_bar import TitleBar

_TICK_SECONDS = 1.0


class Audited(Protocol):
    """What the screen asks of the runtime."""

    @property
    def audit(self) -> AuditSource:
        """Return the log."""

    @property
    def live(self) -> tuple[str, ...]:
        """Return the ids of the runs this process drives."""


class AuditScreen(Screen[None]):
    """The whole log."""

    def __init__(self, runtime: Audited) -> None:
        super().__init__()
        self._runtime = runtime
        self.pane = AuditPane(runtime.audit)

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield TitleBar("audit")
        yield self.pane
        yield KeyBar()

    def on_mount(self) -> None:
        """Give the keys to the rows."""
        self.set_interval(_TICK_SECONDS, self._tick)
        self._tick()
        self.pane.focus()

    def _tick(self) -> None:
        self.query_one(TitleBar).show(len(self._runtime.live))
