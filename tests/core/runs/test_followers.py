"""Followers: replay, then live; none owns a run, none can hurt one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from core.errors import StoreUnavailable, UnknownRun
from core.model import (
    CancelLevel,
    Delta,
    Event,
    Output,
    Request,
    Response,
    RunStatus,
    Tool,
    ToolStarted,
    to_json,
)
from core.runtime import Run
from core.tools import ToolContext, tool
from tests.core.runs.rig import Rig, every, kinds, only, rigged
from tests.fakes.held_tool import Heeds, HeldTool
from tests.fakes.provider import Turn
from tests.support.waiting import until

BOUNDARY = CancelLevel.BOUNDARY


@tool(effect="pure")
async def prints(context: ToolContext) -> str:
    for word in ("one ", "two ", "three"):
        context.output(word)
    return "printed"


def turns(*, hold: bool = False) -> list[Turn]:
    return [
        Turn("a b c", pieces=("a ", "b ", "c"), thinking="hm", calls=[("prints", "{}")], hold=hold),
        Turn("the end", hold=hold),
    ]


async def follow(run: Run, after: int = -1) -> list[Event]:
    async with run.events(after) as events:
        return [event async for event in events]


def stored(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.seq is not None]


@asynccontextmanager
async def seeing(run: Run, after: int = -1) -> AsyncIterator[list[Event]]:
    """Give what a follower has seen so far; at the block's end it sees the run's end."""
    seen: list[Event] = []

    async def collect() -> None:
        async with run.events(after) as events:
            async for event in events:
                seen.append(event)

    follower = asyncio.create_task(collect())
    yield seen
    await asyncio.wait_for(follower, 10)


@asynccontextmanager
async def followed(rig: Rig) -> AsyncIterator[tuple[Run, list[Event]]]:
    """Start a run with a follower that is live before anything happens; wait for its end."""
    rig.store.handed_in.shut()
    run = await rig.start()
    async with seeing(run) as seen:
        await until(lambda: seen)
        rig.store.handed_in.open()
        yield run, seen


async def test_a_follower_sees_every_event_once_with_its_pieces_in_between(tmp_path: Path) -> None:
    async with rigged(tmp_path, turns(), prints) as rig:
        async with followed(rig) as (run, seen):
            _, events = await rig.ended(run)
        assert list(map(to_json, rig.published)) == list(map(to_json, events))
    assert stored(seen) == events
    first = only((event for event in every(seen, Response) if event.tool_calls), Response)
    pieces = [event for event in every(seen, Delta) if event.step == first.step]
    assert "".join(event.text for event in pieces) == first.text == "a b c"
    assert "".join(event.thinking for event in pieces) == first.thinking == "hm"
    assert [event.offset for event in pieces] == [0, 0, 2, 4]
    outputs = every(seen, Output)
    assert [(event.offset, event.text) for event in outputs] == [
        (0, "one "),
        (4, "two "),
        (8, "three"),
    ]
    # A step's pieces stand between its intent and its outcome.
    for piece in (*pieces, *outputs):
        at = seen.index(piece)
        about = [e for e in seen if isinstance(e, Request | ToolStarted | Response | Tool)]
        before = [e for e in about if seen.index(e) < at and e.step == piece.step]
        assert [type(event) for event in before] in ([Request], [ToolStarted])


async def test_several_followers_see_the_same(tmp_path: Path) -> None:
    async with rigged(tmp_path, turns(), prints) as rig:
        run = await rig.start()
        followers = [asyncio.create_task(follow(run)) for _ in range(5)]
        followers.append(asyncio.create_task(follow(rig.runtime.handle(run.id))))
        _, events = await rig.ended(run)
        late = await follow(run)
        seen = await asyncio.gather(*followers)
    assert all(stored(one) == events for one in seen)
    assert late == events


async def test_a_follower_that_joins_late_replays_from_where_it_says(tmp_path: Path) -> None:
    held = HeldTool()
    script = [Turn("one", calls=[("held", "{}")]), Turn("two")]
    async with rigged(tmp_path, script, held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        afters = (-1, 0, 2, 4, 5, 7)
        followers = [asyncio.create_task(follow(run, after)) for after in afters]
        await until(lambda: all(not task.done() for task in followers))
        held.release()
        seen = await asyncio.gather(*followers)
        _, events = await rig.ended(run)
    for after, one in zip(afters, seen, strict=True):
        assert stored(one) == events[after + 1 :]


@pytest.mark.parametrize("beyond", [0, 1, 1_000])
async def test_beyond_the_end_of_a_closed_run_there_is_nothing_to_wait_for(
    tmp_path: Path, beyond: int
) -> None:
    async with rigged(tmp_path, [Turn("x")]) as rig:
        run = await rig.start()
        _, events = await rig.ended(run)
        last = events[-1].seq
        assert last is not None
        assert await asyncio.wait_for(follow(run, last + beyond), 5) == []


async def test_beyond_the_end_of_a_live_run_a_follower_ends_with_the_run(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True)]) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        follower = asyncio.create_task(follow(run, 1_000))
        await rig.pass_time(0.1)
        assert not follower.done()
        rig.provider.release()
        await rig.ended(run)
        assert stored(await asyncio.wait_for(follower, 5)) == []


async def test_an_unknown_run_cannot_be_followed(tmp_path: Path) -> None:
    async with rigged(tmp_path) as rig:
        with pytest.raises(UnknownRun):
            await follow(rig.runtime.handle("no-such-run"))
        with pytest.raises(UnknownRun):
            await rig.runtime.handle("no-such-run").wait()
        with pytest.raises(UnknownRun):
            await rig.runtime.status("no-such-run")


async def test_followers_and_waiters_that_end_early_do_not_touch_the_run(tmp_path: Path) -> None:
    async with rigged(tmp_path, turns(hold=True), prints) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)

        async def break_down() -> None:
            async with run.events() as events:
                async for _ in events:
                    raise LookupError

        async def leave() -> None:
            async with run.events() as events:
                async for _ in events:
                    return

        doomed = [asyncio.create_task(follow(run)), asyncio.create_task(run.wait())]
        doomed.append(asyncio.create_task(rig.runtime.handle(run.id).wait()))
        await asyncio.gather(break_down(), leave(), return_exceptions=True)
        await rig.pass_time(0.1)
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)
        rig.provider.release()
        await rig.recorded(Response)
        await until(rig.provider.holding.is_set)
        rig.provider.release()
        result, _ = await rig.ended(run)
    assert result.status is RunStatus.COMPLETED


async def test_a_slow_follower_loses_pieces_and_never_an_event(tmp_path: Path) -> None:
    wordy = Turn("x" * 9_000, pieces=["xxx"] * 3_000, calls=[("prints", "{}")])
    async with rigged(tmp_path, [wordy, wordy, Turn("the end")], prints) as rig:
        run = await rig.start()
        seen: list[Event] = []
        async with run.events() as events:
            async for event in events:
                seen.append(event)
                if len(seen) == 1:
                    result = await run.wait()
        _, events_stored = await rig.ended(run)
    assert stored(seen) == events_stored
    assert len(every(seen, Delta)) < 3_000
    assert result.status is RunStatus.COMPLETED


async def test_another_process_follows_through_the_store(tmp_path: Path) -> None:
    held = HeldTool()
    script = [Turn("one", calls=[("held", "{}")]), Turn("two")]
    async with rigged(tmp_path, script, held) as rig, rigged(tmp_path) as other:
        run = await rig.start()
        await until(lambda: held.runs)
        follower = asyncio.create_task(follow(other.runtime.handle(run.id)))
        waiter = asyncio.create_task(other.runtime.handle(run.id).wait())
        await other.pass_time(0.1)
        held.release()
        result, events = await rig.ended(run)
        assert await other.outlast(follower, most_s=1) == events
        assert await other.outlast(waiter, most_s=1) == result
        assert (await other.runtime.status(run.id)).owner is None


async def test_a_stop_of_another_process_takes_its_place_in_the_live_stream(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True)]) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        follower = asyncio.create_task(follow(run))
        await rig.pass_time(0.1)
        await rig.elsewhere.cancel(run.id, level=BOUNDARY, by="x", reason="", at_us=7)
        rig.provider.release()
        _, events = await rig.ended(run)
        seen = stored(await rig.outlast(follower, most_s=1))
    assert seen == events
    assert kinds(seen)[-3:] == ["cancel_requested", "response", "cancelled"]


async def test_a_follower_that_joins_in_the_middle_gets_what_was_streamed_before(
    tmp_path: Path,
) -> None:
    held = HeldTool()
    script = [
        Turn("a b c", pieces=("a ", "b ", "c"), thinking="hm", calls=[("held", "{}")], hold=True),
        Turn("the end"),
    ]
    async with rigged(tmp_path, script, held) as rig:
        run = await rig.start()
        await until(rig.provider.holding.is_set)
        async with seeing(run, 2) as early, seeing(run, 1) as late:
            await until(lambda: len(every(early, Delta)) == len(every(late, Delta)) == 2)
            rig.provider.release()
            await until(lambda: held.runs)
            held.contexts[0].output("one ")
            held.contexts[0].output("two")
            async with seeing(run, 3) as latest:
                await until(lambda: every(latest, Output))
                held.contexts[0].output(" three")
                held.release()
                await rig.ended(run)
    for one in (early, late):
        pieces = [event for event in every(one, Delta) if event.round == 1]
        assert [(event.offset, event.text, event.thinking) for event in pieces] == [
            (0, "", "hm"),
            (0, "a b c", ""),
        ]
    outputs = [(event.offset, event.text) for event in every(latest, Output)]
    assert outputs == [(0, "one two"), (7, " three")]
    assert [event for event in every(latest, Delta) if event.round == 1] == []


async def test_what_a_step_prints_after_its_outcome_is_shown_to_nobody(tmp_path: Path) -> None:
    held = HeldTool(heeds=Heeds.NOTHING, deadline_s=1.0)
    script = [Turn("one", calls=[("held", "{}")]), Turn("two", hold=True)]
    async with rigged(tmp_path, script, held) as rig, followed(rig) as (run, seen):
        await until(lambda: held.runs)
        held.contexts[0].output("in time")
        await rig.outlast(until(rig.provider.holding.is_set), most_s=4)
        held.contexts[0].output("too late")
        rig.provider.release()
        held.release()
        await rig.ended(run)
    assert [event.text for event in every(seen, Output)] == ["in time"]


async def test_followers_of_a_runtime_that_closes_do_not_wait_for_ever(tmp_path: Path) -> None:
    async with rigged(tmp_path, [Turn("x", hold=True)]) as rig:
        async with rigged(tmp_path) as other:
            run = await rig.start()
            await until(rig.provider.holding.is_set)
            handle = other.runtime.handle(run.id)
            ends = [asyncio.create_task(follow(handle)), asyncio.create_task(handle.wait())]
            await other.pass_time(0.1)
        for end in ends:
            with pytest.raises(StoreUnavailable, match="closed"):
                await asyncio.wait_for(end, 5)
        rig.provider.release()
        result, _ = await rig.ended(run)
    assert result.status is RunStatus.COMPLETED


async def plain(rig: Rig) -> list[Event]:
    run = await rig.start()
    seen = await follow(run)
    await rig.ended(run)
    return seen


async def test_every_event_is_plain_json_with_the_fields_that_all_have(tmp_path: Path) -> None:
    async with rigged(tmp_path, turns(), prints) as rig:
        seen = await plain(rig)
    for event in seen:
        told = to_json(event)
        assert json.loads(json.dumps(told, allow_nan=False)) == told
        assert {"run_id", "seq", "kind", "at", "round", "duration_ms"} <= told.keys()
        if isinstance(event, Request | Response | Tool | ToolStarted):
            assert {"step", "name", "call_ids"} <= told.keys()
        if event.terminal:
            assert told["usage"].keys() == {
                "requests",
                "input_tokens",
                "output_tokens",
                "cost_usd",
                "estimated",
            }


async def test_times_and_durations_come_from_the_clock(tmp_path: Path) -> None:
    held = HeldTool()
    async with rigged(tmp_path, [Turn(calls=[("held", "{}")]), Turn("x")], held) as rig:
        run = await rig.start()
        await until(lambda: held.runs)
        rig.clock.advance(1.5)
        held.release()
        _, events = await rig.ended(run)
    assert only(events, Tool).duration_ms == 1_500
    assert all(one.at_us <= other.at_us for one, other in pairwise(events))
    assert [event.duration_ms for event in every(events, Response)] == [0, 0]
