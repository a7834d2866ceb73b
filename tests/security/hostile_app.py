"""Opens the app with nothing but hostile text in it, looks at everything, leaves.

Run as ``python -m tests.security.hostile_app FOLDER CASES.json`` on a terminal; writes a
picture of each thing it looked at to ``FOLDER``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

from core.errors import ProviderError
from core.model import AuditAction, AuditEntry
from core.providers import Provider
from playground.app import PlaygroundApp
from playground.safe import safe_notify, safe_title
from playground.widgets.audit_pane import AuditPane
from playground.widgets.inspector import Inspector
from tests.fakes.clock import FakeClock
from tests.fakes.provider import ScriptedProvider, Turn
from tests.support.runtime import open_store, scripted_runtime
from tests.support.waiting import until


class Tour(PlaygroundApp):
    """The app, and somebody who looks at everything in it."""

    folder: Path
    texts: list[str]
    pictures = 0

    def on_ready(self) -> None:
        self.run_worker(self._tour())

    async def _look(self) -> None:
        """Wait until the screen was painted, and take its picture."""
        painted = asyncio.Event()
        self.call_after_refresh(painted.set)
        await painted.wait()
        self.pictures += 1
        picture = self.export_screenshot()
        (self.folder / f"{self.pictures:03}.svg").write_text(picture, encoding="utf-8")

    async def _tour(self) -> None:
        try:
            await self._look_at_everything()
        finally:
            self.exit()

    async def _look_at_everything(self) -> None:
        for model in ("hostile", "failing"):
            await self._run_and_walk(model)
        for text in self.texts:
            safe_notify(self, text, title=text, timeout=0.5)
            safe_title(self.run_screen.steps, text, text)
        await self._look()
        for mode in ("runs", "audit"):
            await self.action_go(mode)
            await until(lambda: self._rows() > 0, mode)
            await self._look()
        self.screen.query_one(AuditPane).open_detail()
        await self._look()
        self.simulate_key("ctrl+p")
        await self._look()

    def _rows(self) -> int:
        table = self.screen.query("#runs, #audit-table").first()
        return int(getattr(table, "row_count", 0))

    async def _run_and_walk(self, model: str) -> None:
        screen = self.run_screen
        screen.form.show(replace(screen.form.data, model=model, prompt="\n".join(self.texts)))
        screen.action_start()
        await until(lambda: screen.view is not None and not screen.view.phase.live, "the end")
        inspector = screen.query_one(Inspector)
        for row in range(screen.steps.row_count):
            screen.steps.selected = row
            await self._look()
            for tab in sorted(inspector.strip.present):
                inspector.pick(tab)
                await self._look()
            inspector.body.scroll_end(animate=False)
            await self._look()


def _providers(texts: list[str]) -> dict[str, Provider]:
    everything = "\n".join(texts)
    turns = [
        Turn(pieces=texts, text="".join(texts), thinking=everything, calls=[(text, everything)])
        for text in texts[:3]
    ]
    error = ProviderError(everything, failure_class="client_error")
    return {
        "hostile": ScriptedProvider([*turns, Turn(text=everything)]),
        "failing": ScriptedProvider([Turn(text=everything, error=error)]),
        texts[0]: ScriptedProvider([]),
    }


async def main(folder: Path, texts: list[str]) -> None:
    """Fill a store with hostile rows, then open the app on it."""
    clock = FakeClock()
    store = await open_store(folder / "playground.db", clock)
    for text in texts[:12]:
        await store.append_audit(
            AuditEntry(
                at_us=clock.now_us(),
                action=AuditAction.HTTP_CALL,
                success=False,
                host=text,
                path=text,
                method=text,
                credential=text,
                run_id=text,
                step=text,
                call_id=text + "#",
                actor=text,
                message=text,
            )
        )
    await store.close()
    async with scripted_runtime(folder, _providers(texts), clock=clock) as runtime:
        app = Tour(runtime, clock)
        app.folder, app.texts = folder, texts
        await app.run_async()


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    asyncio.run(main(Path(sys.argv[1]), found))
