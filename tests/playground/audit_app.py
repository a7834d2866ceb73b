"""A small app around the audit pane, for tests that need nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from textual.app import App
from textual.filter import LineFilter
from textual.pilot import Pilot
from textual.strip import Strip

from core.model import AuditAction, AuditEntry
from playground.app import PlaygroundApp
from playground.safe import ControlFilter
from playground.screens.audit import AuditScreen
from playground.state.audit_source import AuditSource
from playground.widgets.audit_pane import AuditPane
from tests.playground.audit_log import entry
from tests.support.waiting import until

A = AuditAction
_NO_CALL = {"host": None, "path": None, "method": None, "status": 0, "step": None, "call_id": None}


class AuditApp(App[None]):
    CSS_PATH = PlaygroundApp.CSS_PATH
    COMPONENT_CLASSES = PlaygroundApp.COMPONENT_CLASSES

    def __init__(self, source: AuditSource) -> None:
        super().__init__()
        self.audit = source
        self.live: tuple[str, ...] = ()
        self.animation_level = "none"
        self.opened: list[tuple[str, str | None]] = []

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [ControlFilter(), *super().get_line_filters()]

    def on_mount(self) -> None:
        self.push_screen(AuditScreen(self))

    @property
    def pane(self) -> AuditPane:
        return self.screen.query_one(AuditPane)

    def on_audit_pane_run_selected(self, event: AuditPane.RunSelected) -> None:
        self.opened.append((event.run_id, event.step))

    def lines(self) -> list[str]:
        """What the rows say on the screen now."""
        table = self.pane.table
        return [_text(table.render_line(y)) for y in range(table.size.height)]

    @property
    def title_line(self) -> str:
        return f"{self.pane.border_title} | {self.pane.border_subtitle}"


def _text(strip: Strip) -> str:
    return strip.text.rstrip()


@asynccontextmanager
async def audit_app(
    source: AuditSource, size: tuple[int, int] = (140, 30)
) -> AsyncIterator[tuple[AuditApp, Pilot[None]]]:
    """Run the app until its first rows are drawn."""
    app = AuditApp(source)
    async with app.run_test(size=size) as pilot:
        await until(lambda: isinstance(app.screen, AuditScreen) and app.pane.is_mounted)
        await settled(app)
        await pilot.pause()
        yield app, pilot


async def settled(app: AuditApp) -> None:
    """Wait until all that is in view has been read."""
    await until(lambda: app.pane.idle, "the pane to come to rest")


def day(count: int = 40) -> list[AuditEntry]:
    """A day's log: calls of a few runs, some stopped, some refused, a secret, decisions."""
    if not count:
        return []
    entries = [
        entry(
            0,
            A.SECRET_CREATED,
            **(_NO_CALL | {"run_id": None}),
            credential="demo",
            actor="ada",
            success=True,
            message="Secret created",
        )
    ]
    for number in range(1, count):
        match number % 10:
            case 4:
                other = {
                    "host": "models.example.net",
                    "path": "/v1/messages",
                    "credential": "atlas",
                }
                made = entry(
                    number,
                    A.HTTP_CALL_CANCELLED,
                    message="Stopped in flight",
                    **(other if number % 3 else {}),
                )
            case 5:
                made = entry(
                    number,
                    A.RUN_CANCEL_REQUESTED,
                    **(_NO_CALL | {"run_id": entry(number - 1).run_id}),
                    credential=None,
                    actor="ada",
                    success=True,
                    message="Cancel requested",
                )
            case 7:
                made = entry(
                    number,
                    success=False,
                    status=0,
                    host="metadata.internal",
                    path="/latest",
                    message="Host is not on the allow list",
                )
            case 8:
                made = entry(number, A.HTTP_CALL_CANCELLED_BEFORE_SEND, status=0)
            case 2 | 6:
                made = entry(
                    number, host="127.0.0.1", path="/api/weather", method="GET", credential="demo"
                )
            case _:
                made = entry(number)
        entries.append(made)
    return entries
