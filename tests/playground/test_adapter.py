from __future__ import annotations

import asyncio

from core.model import Delta, Event, Output
from playground.adapter import INTERVAL, Batcher
from tests.playground.events import RUN, T0, Script
from tests.support.waiting import until


def _delta(offset: int, text: str = "", thinking: str = "", step: str = "1.1") -> Delta:
    return Delta(run_id=RUN, at_us=T0, step=step, offset=offset, text=text, thinking=thinking)


async def _batches(*events: Event) -> list[list[Event]]:
    batches: list[list[Event]] = []
    batcher = Batcher(batches.append)
    for event in events:
        batcher.put(event)
    batcher.flush()
    return batches


async def test_pieces_of_one_text_become_one_piece() -> None:
    (batch,) = await _batches(*(_delta(at, "x") for at in range(500)))
    assert batch == [_delta(0, "x" * 500)]


async def test_thinking_and_text_and_output_are_kept_apart() -> None:
    (batch,) = await _batches(
        _delta(0, thinking="a"),
        _delta(0, "x"),
        _delta(1, thinking="b"),
        _delta(1, "y"),
        Output(run_id=RUN, at_us=T0, step="1.2", offset=0, text="1\n"),
        Output(run_id=RUN, at_us=T0, step="1.2", offset=2, text="2\n"),
    )
    assert batch == [
        _delta(0, thinking="ab"),
        _delta(0, "xy"),
        Output(run_id=RUN, at_us=T0, step="1.2", offset=0, text="1\n2\n"),
    ]


async def test_steps_side_by_side_fold_as_well() -> None:
    pieces = [_delta(at, "x", step=step) for at in range(50) for step in ("1.1", "1.2")]
    (batch,) = await _batches(*pieces)
    assert batch == [_delta(0, "x" * 50, step="1.1"), _delta(0, "x" * 50, step="1.2")]


async def test_a_persisted_event_is_never_folded_and_never_overtaken() -> None:
    s = Script()
    request, response = s.request(), s.response("xy")
    (batch,) = await _batches(request, _delta(0, "x"), _delta(1, "y"), response, _delta(0, "z"))
    assert batch == [request, _delta(0, "xy"), response, _delta(0, "z")]


async def test_a_gap_ends_the_folding() -> None:
    (batch,) = await _batches(_delta(0, "ab"), _delta(9, "z"))
    assert batch == [_delta(0, "ab"), _delta(9, "z")]


async def test_two_thousand_pieces_a_second_are_twenty_batches() -> None:
    batches: list[list[Event]] = []
    batcher = Batcher(batches.append)
    loop = asyncio.get_running_loop()
    begun, sent = loop.time(), 0
    while sent < 1_000:
        while sent < 1_000 and sent < (loop.time() - begun) * 2_000:
            batcher.put(_delta(sent, "x"))
            sent += 1
        await asyncio.sleep(0)
    await until(lambda: sum(len(event.text) for event in _deltas(batches)) == sent, "the last")
    took = loop.time() - begun
    assert len(batches) <= took / INTERVAL + 2
    assert all(len(batch) == 1 for batch in batches)


def _deltas(batches: list[list[Event]]) -> list[Delta]:
    return [event for batch in batches for event in batch if isinstance(event, Delta)]


async def test_the_first_event_after_a_rest_does_not_wait() -> None:
    batches: list[list[Event]] = []
    batcher = Batcher(batches.append, interval=60.0)
    batcher.put(Script().started())
    await until(lambda: batches, "the first batch")
