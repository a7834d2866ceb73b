"""What every store does when a commit is tried again whose acknowledgement was lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.model import CancelLevel, Completed, Failed, RunStatus, Usage
from core.store import Commit, Store, Verdict
from tests.core.store.builders import (
    RUN,
    SPENT,
    begin,
    cancelled,
    completed,
    failed,
    model_step,
    request,
    response,
    tool,
    tool_started,
)
from tests.core.store.conftest import StoreFactory

BOUNDARY, ABORT = CancelLevel.BOUNDARY, CancelLevel.ABORT


async def stop(store: Store, level: CancelLevel = BOUNDARY) -> None:
    await store.cancel(RUN, level=level, by="me", reason="", at_us=7)


async def test_what_was_stored_is_not_stored_again(store: Store) -> None:
    claim = await begin(store)
    commit = Commit(
        claim=claim,
        outcomes=(response("s1"), tool("t1")),
        intents=(request("s2"),),
        opened_steps=(model_step("s2"),),
        tool_calls=1,
    )
    first = await store.commit(commit)
    before = await store.get_run(RUN)
    again = await store.commit(replace(commit, replay_from=1))
    assert again == first
    assert await store.get_run(RUN) == before
    assert before is not None
    assert (before.usage, before.tool_calls, before.next_seq) == (SPENT, 1, 4)


async def test_what_was_not_stored_is_stored_by_the_second_try(store: Store) -> None:
    claim = await begin(store)
    commit = Commit(claim=claim, outcomes=(response("s1"),), intents=(request("s2"),))
    committed = await store.commit(replace(commit, replay_from=1))
    assert committed.verdict is Verdict.GO
    assert [event.seq for event in committed.events] == [1, 2]


async def test_an_outcome_that_came_meanwhile_joins_the_second_try(store: Store) -> None:
    claim = await begin(store)
    await store.commit(Commit(claim=claim, outcomes=(tool("t1"),), tool_calls=1))
    committed = await store.commit(
        Commit(
            claim=claim,
            outcomes=(tool("t1"), tool("t2"), tool("t3", executed=False)),
            tool_calls=2,
            replay_from=1,
        )
    )
    assert [event.seq for event in committed.events] == [1, 2, 3]
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.tool_calls, found.next_seq) == (2, 4)


async def test_steps_before_the_first_try_are_not_taken_for_its_own(store: Store) -> None:
    claim = await begin(store)
    await store.commit(Commit(claim=claim, intents=(tool_started("t1"),)))
    committed = await store.commit(Commit(claim=claim, outcomes=(tool("t1"),), replay_from=2))
    assert [event.seq for event in committed.events] == [2]


async def test_intents_stored_before_a_cancel_stay_open_after_it(store: Store) -> None:
    claim = await begin(store)
    commit = Commit(
        claim=claim,
        outcomes=(response("s1"),),
        intents=(request("s2"),),
        opened_steps=(model_step("s2"),),
    )
    first = await store.commit(commit)
    await stop(store)
    again = await store.commit(replace(commit, replay_from=1))
    assert again.verdict is Verdict.STOP
    assert again.events == first.events
    assert again.next_seq == 4
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.open_steps, found.usage) == ((model_step("s2"),), SPENT)


async def test_intents_refused_by_a_cancel_are_refused_again(store: Store) -> None:
    claim = await begin(store)
    await stop(store)
    commit = Commit(
        claim=claim,
        outcomes=(response("s1"),),
        intents=(request("s2"),),
        opened_steps=(model_step("s2"),),
    )
    first = await store.commit(commit)
    again = await store.commit(replace(commit, replay_from=2))
    assert again == first
    assert again.events == (replace(response("s1"), seq=2),)
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.open_steps, found.usage) == ((), SPENT)


@pytest.mark.parametrize("end", [completed(), failed()])
async def test_an_end_that_was_stored_is_reported_as_stored(
    store: Store, end: Completed | Failed
) -> None:
    claim = await begin(store)
    commit = Commit(
        claim=claim,
        outcomes=(response("s1"),),
        close=end,
    )
    first = await store.commit(commit)
    before = await store.get_run(RUN)
    again = await store.commit(replace(commit, replay_from=1))
    assert again == first
    assert again.closed
    assert await store.get_run(RUN) == before


async def test_the_end_of_a_cancelled_run_is_reported_as_stored(store: Store) -> None:
    claim = await begin(store)
    await stop(store, ABORT)
    commit = Commit(claim=claim, outcomes=(response("s1"),), close=cancelled(ABORT))
    first = await store.commit(commit)
    again = await store.commit(replace(commit, replay_from=2))
    assert again == first
    assert (again.closed, again.verdict) == (True, Verdict.ABORT)


async def test_an_end_refused_by_a_cancel_is_refused_again(store: Store) -> None:
    claim = await begin(store)
    await stop(store)
    commit = Commit(claim=claim, outcomes=(response("s1"),), close=completed())
    await store.commit(commit)
    again = await store.commit(replace(commit, replay_from=2))
    assert (again.closed, again.verdict) == (False, Verdict.STOP)
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.status, found.usage) == (RunStatus.CANCELLED, SPENT)


async def test_another_end_than_the_stored_one_is_lost(store: Store) -> None:
    claim = await begin(store)
    await store.commit(Commit(claim=claim, close=completed()))
    again = await store.commit(Commit(claim=claim, close=failed(), replay_from=1))
    assert (again.verdict, again.closed) == (Verdict.LOST, False)


async def test_after_a_take_over_a_second_try_is_lost(
    store: Store, store_factory: StoreFactory
) -> None:
    claim = await begin(store)
    commit = Commit(claim=claim, outcomes=(response("s1", usage=Usage(1, 1, 1, 0.1)),))
    await store.commit(commit)
    row = await store.get_run(RUN)
    assert row is not None
    await store.close()
    heir = await store_factory()
    assert await heir.take_over(row) is not None
    again = await heir.commit(replace(commit, replay_from=1))
    assert (again.verdict, again.events) == (Verdict.LOST, ())
