from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import RunRequest, Runtime
from core.model import CancelReceipt
from playground.leaving import Leaving
from playground.opening import OpeningApp
from tests.playground.stage import PROMPT, held
from tests.support.runtime import scripted_runtime
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def thaw() -> Iterator[None]:
    yield
    gc.unfreeze()


class Headless(OpeningApp):
    async def run_async(self, **options: Any) -> None:
        return await super().run_async(headless=True, **options)


async def test_two_signals_while_the_app_opens_only_end_it(tmp_path: Path) -> None:
    asked, go = asyncio.Event(), asyncio.Event()
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    async with Leaving() as leaving, scripted_runtime(tmp_path) as runtime:

        async def opener() -> Runtime:
            asked.set()
            await go.wait()
            return runtime

        showing = asyncio.create_task(leaving.show(Headless(opener)))
        await until(asked.is_set)
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: leaving.code)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.01)
        go.set()
        await showing
    gc.collect()
    assert leaving.code == 143
    assert faults == []


async def test_a_fault_of_the_second_signal_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = held()

    async def cancel(*_: object, **__: object) -> CancelReceipt:
        raise RuntimeError("a fault of ours")

    with pytest.raises(RuntimeError, match="a fault of ours"):
        async with Leaving() as leaving, scripted_runtime(tmp_path, {"scripted": model}) as runtime:

            async def opener() -> Runtime:
                return runtime

            app = Headless(opener)
            showing = asyncio.create_task(leaving.show(app))
            await until(lambda: app.current_mode == "run", "the run screen")
            await runtime.start(RunRequest(prompt=PROMPT, model="scripted"))
            await until(model.holding.is_set)
            os.kill(os.getpid(), signal.SIGTERM)
            await showing
            with monkeypatch.context() as broken:
                broken.setattr(runtime, "cancel", cancel)
                os.kill(os.getpid(), signal.SIGTERM)
                await until(lambda: leaving._aborting and leaving._aborting.done())
            model.release()
