from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from core.cli._follow import follow
from core.cli._globals import Globals
from core.cli._output import Output
from core.cli._session import Session
from core.cli._signals import signals
from core.cli.run import _drive
from core.model import (
    Delta,
    Event,
    Outcome,
    Response,
    RunRequest,
    RunResult,
    RunStatus,
    StepOutcome,
    TerminationReason,
    Usage,
)
from core.model import Output as ToolOutput
from core.runtime import Runtime


async def interrupt(number: signal.Signals) -> None:
    """Send this process a signal and let the loop see it: a turn to wake, one to call."""
    os.kill(os.getpid(), number)
    for _ in range(5):
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class InterruptedSession(Session):
    """A session whose store takes so long to open that somebody presses Ctrl+C."""

    @asynccontextmanager
    async def runtime(self) -> AsyncIterator[Runtime]:
        async with Session.runtime(self) as runtime:
            await interrupt(signal.SIGINT)
            yield runtime
            assert await runtime.runs() == []


async def test_signal_before_the_run_starts_nothing(
    database: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = Output(as_json=False)
    session = InterruptedSession(Globals(db=str(database)), out)
    async with asyncio.timeout(10):
        assert await _drive(session, RunRequest(prompt="x")) == 4
    out.close()
    assert capfd.readouterr().err == "Cancelled before it started.\n"


class UnrecordedRun:
    """A run whose end the store did not take: its stream has none."""

    @asynccontextmanager
    async def events(self, after: int = -1) -> AsyncIterator[AsyncIterator[Event]]:
        async def endless() -> AsyncIterator[Event]:
            yield response("Hello")
            await asyncio.Event().wait()

        yield endless()

    async def wait(self) -> RunResult:
        return RunResult(
            run_id="r",
            outcome=Outcome.FAILED,
            status=RunStatus.FAILED,
            termination_reason=TerminationReason.STORE_UNAVAILABLE,
            text="Hello",
            usage=Usage(),
            recorded=False,
        )


@dataclass(frozen=True, slots=True)
class UnrecordedSession(Session):
    @asynccontextmanager
    async def runtime(self) -> AsyncIterator[Runtime]:
        class Stand:
            async def start(self, request: RunRequest) -> UnrecordedRun:
                return UnrecordedRun()

        yield cast(Runtime, Stand())


async def test_run_whose_end_was_not_stored_ends_the_command(
    database: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = Output(as_json=False)
    async with asyncio.timeout(10):
        code = await _drive(
            UnrecordedSession(Globals(db=str(database)), out), RunRequest(prompt="x")
        )
    out.close()
    printed = capfd.readouterr()
    assert (code, printed.out) == (75, "Hello\n")
    assert "The store did not take the end of this run" in printed.err


async def test_handlers_are_gone_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[str] = []
    with signals(seen.append):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            await interrupt(number)
    assert seen == ["SIGINT", "SIGTERM", "SIGHUP"]
    assert signal.getsignal(signal.SIGTERM) == before


def delta(offset: int, text: str, step: str = "1.1") -> Delta:
    return Delta(run_id="r", at_us=0, step=step, name="m", offset=offset, text=text)


def response(text: str, step: str = "1.1") -> Response:
    return Response(run_id="r", seq=1, at_us=0, step=step, text=text, outcome=StepOutcome.OK)


@pytest.mark.parametrize(
    ("events", "printed"),
    [
        ([response("all at once")], "all at once\n"),
        ([delta(0, "Hel"), delta(3, "lo"), response("Hello")], "Hello\n"),
        ([delta(0, "Hel"), delta(5, "lost before"), response("Hello, all")], "Hello, all\n"),
        ([delta(3, "no start"), response("Hello\n")], "Hello\n"),
        (
            [delta(0, "cut"), response("cut"), delta(0, "a", "1.2"), response("ab", "1.2")],
            "cut\nab\n",
        ),
        ([response("")], ""),
    ],
)
async def test_answer_is_printed_once_and_whole_also_when_deltas_were_lost(
    events: list[Event], printed: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def stream() -> AsyncIterator[Event]:
        for event in events:
            yield event

    out = Output(as_json=False)
    assert await follow(stream(), out) is None
    out.close()
    assert capfd.readouterr().out == printed


async def test_output_of_a_tool_cannot_pass_for_narration(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async def stream() -> AsyncIterator[Event]:
        text = "1\n✓ completed · 0 rounds\n"
        yield ToolOutput(run_id="r", at_us=0, step="1.2", name="count", offset=0, text=text)

    out = Output(as_json=False)
    await follow(stream(), out)
    out.close()
    assert capfd.readouterr().err == "  count: 1\n  count: ✓ completed · 0 rounds\n"
