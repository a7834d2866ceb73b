"""The whole loop with random models, tools, stops and store faults: what always holds."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.errors import ProviderError
from core.model import (
    Cancelled,
    CancelLevel,
    CancelRequested,
    Effect,
    Request,
    RunStatus,
    ToolStarted,
    Usage,
)
from core.tools import ToolError
from tests.core.runs.rig import rigged, settle
from tests.fakes.faulty_store import Fault
from tests.fakes.held_tool import HeldTool
from tests.fakes.provider import Turn

NAMES = ("pure", "idempotent", "unsafe", "raises", "unknown")


class Raising(HeldTool):
    async def run(self, arguments: str, context: object) -> str:
        raise ToolError("no", "no")


@dataclass
class Script:
    """One run's fate.

    Attributes:
        turns: what the model does.
        faults: failing commits by number.
        stops: levels asked for, here or elsewhere, at which tick.
        limits: the request's bounds.
    """

    turns: list[Turn]
    faults: dict[int, Fault]
    stops: list[tuple[int, CancelLevel, bool]]
    limits: dict[str, int]


usages = st.builds(
    Usage,
    requests=st.just(1),
    input_tokens=st.integers(0, 50),
    output_tokens=st.integers(0, 50),
    cost_usd=st.none() | st.sampled_from((0.0, 0.25, 0.5)),
    estimated=st.booleans(),
)
errors = st.builds(
    lambda kind, after: ProviderError("It broke.", failure_class=kind, retry_after=after),
    st.sampled_from(("connection", "rate_limit", "auth", "malformed", "unknown")),
    st.none() | st.sampled_from((0.0, 0.2, 100.0)),
)
turns = st.builds(
    Turn,
    text=st.sampled_from(("", "a", "bc")),
    thinking=st.sampled_from(("", "hm")),
    calls=st.lists(st.tuples(st.sampled_from(NAMES), st.just("{}")), max_size=4),
    error=st.none() | st.none() | errors,
    hold=st.booleans(),
    usage=usages,
)
scripts = st.builds(
    Script,
    turns=st.lists(turns, min_size=1, max_size=6),
    faults=st.dictionaries(st.integers(0, 12), st.sampled_from(Fault), max_size=3),
    stops=st.lists(
        st.tuples(st.integers(0, 40), st.sampled_from(CancelLevel), st.booleans()), max_size=3
    ),
    limits=st.fixed_dictionaries(
        {},
        optional={
            "max_rounds": st.integers(1, 3),
            "max_total_tokens": st.integers(1, 200),
            "max_tool_calls": st.integers(1, 5),
        },
    ),
)


async def play(script: Script, folder: Path) -> None:
    tools: Sequence[HeldTool] = (
        HeldTool("pure"),
        HeldTool("idempotent", Effect.IDEMPOTENT),
        HeldTool("unsafe", Effect.UNSAFE),
        Raising("raises"),
    )
    for number, tool in enumerate(tools):
        if number % 2:
            tool.release()
    async with rigged(folder, [*script.turns, Turn("the end")], *tools, loop=True) as rig:
        rig.store.fault_of = script.faults
        run = await rig.start(**script.limits)
        asked: list[asyncio.Task[object]] = []
        for tick in range(4_000):
            for when, level, here in script.stops:
                if when == tick:
                    stop = (
                        run.cancel(level)
                        if here
                        else rig.elsewhere.cancel(run.id, level=level, by="x", reason="", at_us=7)
                    )
                    asked.append(asyncio.ensure_future(stop))
            await settle()
            if run.id not in rig.runtime.live and len(asked) == len(script.stops):
                break
            rig.clock.advance(0.05)
            if tick % 3 == 2:
                rig.provider.release()
            if tick % 7 == 6:
                tools[tick % 3].release()
        await asyncio.gather(*asked)
        result, events = await rig.ended(run)
        seqs = [event.seq for event in events if isinstance(event, CancelRequested)]
        assert (result.status is RunStatus.CANCELLED) == bool(seqs)
        if seqs:
            first = seqs[0] or 0
            late = [e for e in events[first:] if isinstance(e, Request | ToolStarted)]
            assert late == []
            assert isinstance(events[-1], Cancelled)
            assert events[-1].receipt.usage_after_request == Usage()
            assert result.receipt == events[-1].receipt
        assert sum(tool.runs for tool in tools) == sum(tool.ended for tool in tools)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(scripts)
@example(
    Script(
        [Turn(calls=[("pure", "{}")] * 4)], {1: Fault.AFTER}, [(1, CancelLevel.ABORT, False)], {}
    )
)
def test_whatever_happens_the_stream_is_whole_and_ends_once(script: Script) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(script, Path(folder)))


def test_random_moments_of_a_stop_leave_the_stream_whole(soak: bool) -> None:
    dice = random.Random(7)
    for _ in range(400 if soak else 20):
        script = Script(
            [Turn("a", calls=[(dice.choice(NAMES), "{}") for _ in range(3)]) for _ in range(4)],
            {dice.randrange(10): dice.choice(list(Fault))},
            [(dice.randrange(12), dice.choice(list(CancelLevel)), dice.random() < 0.5)],
            {},
        )
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(play(script, Path(folder)))
