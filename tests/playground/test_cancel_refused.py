from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import StoreUnavailable
from core.model import CancelLevel, CancelReceipt
from playground.state.run import Phase
from playground.widgets.summary import Strips
from tests.playground.stage import StagedApp, held, staged
from tests.support.waiting import until


def _refuse(app: StagedApp, monkeypatch: pytest.MonkeyPatch, *levels: CancelLevel) -> None:
    take = app.runtime.cancel

    async def cancel(run_id: str, level: CancelLevel, **about: Any) -> CancelReceipt:
        if level in levels:
            raise StoreUnavailable("The disk is full")
        return await take(run_id, level, **about)

    monkeypatch.setattr(app.runtime, "cancel", cancel)


async def test_a_refused_abort_leaves_the_run_cancelling_and_can_be_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        await app.pressed(pilot, "f8")
        await until(lambda: app.view.cancel_by, "the cancel to be recorded")
        with monkeypatch.context() as down:
            _refuse(app, down, CancelLevel.ABORT)
            app.wait_shown()
            await app.pressed(pilot, "f8")
            await until(lambda: app._notifications, "the refusal")
        await pilot.pause()
        assert app.ended_as(Phase.CANCELLING)
        assert app.button.says.endswith("press again to abort")
        app.time.advance(0.5)
        await app.pressed(pilot, "f8")
        await app.ended(pilot)
        assert app.level() is CancelLevel.ABORT


@pytest.fixture
def no_space() -> Iterator[Callable[[bool], None]]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(on: bool) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024 if on else soft, hard))

    yield limit
    limit(False)
    signal.signal(signal.SIGXFSZ, before)


async def test_a_run_says_that_it_waits_for_a_store_that_takes_no_writes(
    tmp_path: Path, no_space: Callable[[bool], None]
) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):

        def says() -> bool:
            app.shown._tick()
            return "waiting for the store" in app.shown.query_one("#summary", Strips).text

        await app.start(pilot)
        await until(model.holding.is_set)
        assert not says()
        no_space(True)
        model.release()
        await until(says, "what it waits for")
        no_space(False)
        await until(lambda: app.runtime.audit.available, "the store")

        def ended() -> bool:
            app.time.advance(1)  # between two tries
            return not app.view.phase.live

        await until(ended, "the run's end")
        assert app.ended_as(Phase.COMPLETED)
        assert not says()


async def test_a_refused_first_cancel_leaves_the_run_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = held()
    async with staged(tmp_path, {"scripted": model}) as (app, pilot):
        await app.start(pilot)
        await until(model.holding.is_set)
        with monkeypatch.context() as down:
            _refuse(app, down, *CancelLevel)
            await app.pressed(pilot, "f8")
            await until(lambda: app._notifications, "the refusal")
        assert app.ended_as(Phase.RUNNING)
        assert app.button.says == "Cancel"
        app.time.advance(0.5)
        await app.pressed(pilot, "f8")
        assert app.level() is CancelLevel.BOUNDARY
