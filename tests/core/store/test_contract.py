"""What every store does with one run: create, commit, close."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.errors import StoreError
from core.model import (
    CancelLevel,
    Completed,
    Event,
    EventKind,
    Failed,
    RunStatus,
    TerminationReason,
    Usage,
)
from core.store import Claim, Commit, Store, Verdict
from tests.core.store.builders import (
    RUN,
    SPENT,
    assembled,
    begin,
    cancelled,
    completed,
    failed,
    model_step,
    request,
    response,
    row,
    started,
    tool,
    tool_started,
    tool_step,
)
from tests.core.store.conftest import NOW_US, StoreFactory


async def everything(store: Store, run_id: str = RUN) -> list[Event]:
    return await store.read_events(run_id, after=-1, limit=1000)


async def test_a_created_run_is_running_and_owned_and_has_its_first_event(store: Store) -> None:
    claim = await begin(store)
    found = await store.get_run(RUN)
    assert claim == Claim(RUN, 1)
    assert found is not None
    assert found == replace(row(), owner=store.owner, next_seq=1)
    assert await everything(store) == [replace(started(), seq=0)]


async def test_creating_the_same_run_again_changes_nothing(store: Store) -> None:
    first = await begin(store)
    await store.commit(Commit(claim=first, outcomes=(assembled(),)))
    before = await store.get_run(RUN)
    assert await begin(store, prompt="other") == first
    assert await store.get_run(RUN) == before
    assert len(await everything(store)) == 2


async def test_an_unknown_run_is_none_and_has_no_events(store: Store) -> None:
    assert await store.get_run("nope") is None
    assert await everything(store, "nope") == []


async def test_a_commit_stores_outcomes_then_intents_densely(store: Store) -> None:
    claim = await begin(store)
    first = await store.commit(
        Commit(
            claim=claim,
            outcomes=(assembled(),),
            intents=(request("s1"),),
            opened_steps=(model_step("s1"),),
            round=1,
        )
    )
    second = await store.commit(
        Commit(
            claim=claim,
            outcomes=(response("s1"),),
            intents=(tool_started("t1"), tool_started("t2")),
            opened_steps=(tool_step("t1"), tool_step("t2")),
            round=1,
        )
    )
    assert first.verdict is second.verdict is Verdict.GO
    assert [event.seq for event in (*first.events, *second.events)] == [1, 2, 3, 4, 5]
    assert (first.next_seq, second.next_seq) == (3, 6)
    assert first.events == (replace(assembled(), seq=1), replace(request("s1"), seq=2))
    assert (await everything(store))[1:] == [*first.events, *second.events]
    found = await store.get_run(RUN)
    assert found is not None
    assert found.open_steps == (tool_step("t1"), tool_step("t2"))
    assert (found.next_seq, found.round, found.updated_us) == (6, 1, NOW_US)


async def test_without_intents_the_open_steps_are_those_after_the_outcomes(store: Store) -> None:
    claim = await begin(store)
    await store.commit(
        Commit(
            claim=claim,
            intents=(tool_started("t1"), tool_started("t2")),
            opened_steps=(tool_step("t1"), tool_step("t2")),
        )
    )
    await store.commit(
        Commit(claim=claim, outcomes=(tool("t1"),), open_steps=(tool_step("t2"),), tool_calls=1)
    )
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.open_steps, found.tool_calls) == ((tool_step("t2"),), 1)


async def test_the_round_never_goes_back(store: Store) -> None:
    claim = await begin(store)
    await store.commit(Commit(claim=claim, round=3))
    await store.commit(Commit(claim=claim, round=2))
    found = await store.get_run(RUN)
    assert found is not None
    assert found.round == 3


@pytest.mark.parametrize(
    "spent",
    [
        (),
        (SPENT,),
        (SPENT, Usage(2, 1, 1, 0.5, estimated=True)),
        (SPENT, Usage(1, 1, 1, None), SPENT),
        (Usage(1, 1, 1, None), SPENT),
        (Usage(), SPENT, Usage(), SPENT),
        (Usage(cost_usd=0.0), SPENT),
        (Usage(estimated=True), SPENT),
    ],
)
async def test_the_totals_are_the_sum_of_the_stored_outcomes(
    store: Store, spent: tuple[Usage, ...]
) -> None:
    claim = await begin(store)
    for number, usage in enumerate(spent):
        await store.commit(Commit(claim=claim, outcomes=(response(f"s{number}", usage=usage),)))
    found = await store.get_run(RUN)
    assert found is not None
    assert found.usage == sum(spent, Usage())


async def test_two_outcomes_in_one_commit_are_added_up(store: Store) -> None:
    claim = await begin(store)
    unknown = response("s2", usage=Usage(1, 1, 1, None))
    await store.commit(Commit(claim=claim, outcomes=(response("s1"), unknown)))
    found = await store.get_run(RUN)
    assert found is not None
    assert found.usage == Usage(2, 11, 6, None)


async def test_the_intent_of_a_step_cannot_be_stored_twice(store: Store) -> None:
    claim = await begin(store)
    await store.commit(Commit(claim=claim, intents=(request("s1"),)))
    with pytest.raises(StoreError):
        await store.commit(Commit(claim=claim, intents=(request("s1"),)))
    assert len(await everything(store)) == 2


async def test_a_step_has_one_outcome(store: Store) -> None:
    claim = await begin(store)
    await store.commit(Commit(claim=claim, outcomes=(response("s1"),)))
    with pytest.raises(StoreError):
        await store.commit(Commit(claim=claim, outcomes=(response("s1", text="other"),)))
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.next_seq, found.usage) == (2, SPENT)


@pytest.mark.parametrize("end", [completed(), failed()])
async def test_an_end_closes_the_run(store: Store, end: Completed | Failed) -> None:
    claim = await begin(store)
    committed = await store.commit(Commit(claim=claim, outcomes=(response("s1"),), close=end))
    assert committed.closed
    assert committed.verdict is Verdict.GO
    assert committed.events == (replace(response("s1"), seq=1), replace(end, seq=2))
    assert committed.next_seq == 3
    found = await store.get_run(RUN)
    assert found is not None
    assert found.status is RunStatus(end.kind.value)
    assert found.termination_reason is not None
    assert found.termination_reason is end.termination_reason
    assert (found.closed_us, found.owner, found.cancelling) == (NOW_US, None, False)
    assert (await everything(store))[-1].kind is end.kind


async def test_a_closed_run_takes_nothing_more(store: Store) -> None:
    claim = await begin(store)
    await store.commit(Commit(claim=claim, close=completed()))
    before = await store.get_run(RUN)
    for late in (
        Commit(claim=claim, outcomes=(response("s1"),)),
        Commit(claim=claim, intents=(request("s2"),)),
        Commit(claim=claim, close=failed()),
    ):
        committed = await store.commit(late)
        assert (committed.verdict, committed.events, committed.closed) == (Verdict.LOST, (), False)
    assert await store.get_run(RUN) == before
    assert len(await everything(store)) == 2


async def test_a_claim_of_another_number_or_run_is_lost(store: Store) -> None:
    claim = await begin(store)
    for wrong in (Claim(RUN, claim.number + 1), Claim(RUN, 0), Claim("other", 1)):
        committed = await store.commit(Commit(claim=wrong, outcomes=(response("s1"),)))
        assert (committed.verdict, committed.events) == (Verdict.LOST, ())
    assert len(await everything(store)) == 1


async def test_a_cancelled_end_of_a_run_that_nobody_cancelled_is_not_stored(store: Store) -> None:
    claim = await begin(store)
    committed = await store.commit(
        Commit(claim=claim, outcomes=(response("s1"),), close=cancelled(CancelLevel.BOUNDARY))
    )
    assert not committed.closed
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.status, found.closed_us, found.usage) == (RunStatus.RUNNING, None, SPENT)


async def test_events_come_in_pages_after_a_seq(store: Store) -> None:
    claim = await begin(store)
    await store.commit(
        Commit(claim=claim, outcomes=tuple(response(f"s{number}") for number in range(9)))
    )
    assert [e.seq for e in await store.read_events(RUN, after=3, limit=4)] == [4, 5, 6, 7]
    assert [e.seq for e in await store.read_events(RUN, after=7, limit=4)] == [8, 9]
    assert await store.read_events(RUN, after=9, limit=4) == []


async def test_runs_come_newest_first_in_pages(store: Store) -> None:
    times = {"b": 5, "a": 5, "c": 1, "d": 9}
    for run_id, created_us in times.items():
        await begin(store, run_id, created_us=created_us)
    assert [run.run_id for run in await store.list_runs(limit=10)] == ["d", "b", "a", "c"]
    first = await store.list_runs(limit=2)
    second = await store.list_runs(limit=2, before=first[-1].run_id)
    assert [run.run_id for run in (*first, *second)] == ["d", "b", "a", "c"]
    assert await store.list_runs(limit=2, before="c") == []
    assert await store.list_runs(limit=2, before="nope") == []


async def test_unclosed_runs_are_those_running_or_cancelling(store: Store) -> None:
    claims = {name: await begin(store, name) for name in ("going", "done", "stopping", "stopped")}
    await store.commit(Commit(claim=claims["done"], close=completed("done")))
    for name in ("stopping", "stopped"):
        await store.cancel(name, level=CancelLevel.ABORT, by="me", reason="", at_us=7)
    await store.commit(
        Commit(claim=claims["stopped"], close=cancelled(CancelLevel.ABORT, "stopped"))
    )
    assert {run.run_id for run in await store.unclosed_runs()} == {"going", "stopping"}


async def test_awkward_text_comes_back_as_it_was(store: Store) -> None:
    claim = await begin(store)
    text = "nul \0, lone \ud800, smile 😀, bidi \u202e, quote \"'\\"
    event = response("s1", text=text)
    await store.commit(Commit(claim=claim, outcomes=(event,)))
    assert (await everything(store))[-1] == replace(event, seq=1)


async def test_a_big_body_comes_back_whole(store: Store) -> None:
    claim = await begin(store)
    events = [tool("t1", result="é" * 300_000), tool("t2", result="é" * 300_000), tool("t3")]
    await store.commit(Commit(claim=claim, outcomes=tuple(events)))
    stored = (await everything(store))[1:]
    assert stored == [replace(event, seq=seq) for seq, event in enumerate(events, 1)]


async def test_subscribers_get_what_was_stored_in_order_before_the_writer_goes_on(
    store: Store,
) -> None:
    seen: list[tuple[int | None, EventKind]] = []
    unsubscribe = store.subscribe(
        lambda events: seen.extend((event.seq, event.kind) for event in events)
    )
    claim = await begin(store)
    assert seen == [(0, EventKind.STARTED)]
    await store.commit(Commit(claim=claim, outcomes=(assembled(),), intents=(request("s1"),)))
    assert seen[1:] == [(1, EventKind.ASSEMBLED), (2, EventKind.REQUEST)]
    await store.cancel(RUN, level=CancelLevel.BOUNDARY, by="me", reason="", at_us=7)
    assert seen[3:] == [(3, EventKind.CANCEL_REQUESTED)]
    unsubscribe()
    await store.commit(Commit(claim=claim, outcomes=(response("s1"),)))
    assert len(seen) == 4


async def test_another_stores_events_do_not_reach_a_subscriber(
    store: Store, store_factory: StoreFactory
) -> None:
    other = await store_factory()
    seen: list[Event] = []
    other.subscribe(seen.extend)
    await begin(store)
    assert await everything(other) == await everything(store)
    assert seen == []


async def test_the_termination_reason_is_the_ends(store: Store) -> None:
    claim = await begin(store)
    end = replace(completed(), termination_reason=TerminationReason.MAX_ROUNDS)
    await store.commit(Commit(claim=claim, close=end))
    found = await store.get_run(RUN)
    assert found is not None
    assert found.termination_reason is TerminationReason.MAX_ROUNDS
