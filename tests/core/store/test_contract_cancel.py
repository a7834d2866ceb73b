"""What every store does when a run is cancelled: the fence, the levels, the receipts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from core.errors import UnknownRun
from core.model import (
    AuditAction,
    Cancelled,
    CancelLevel,
    CancelReceipt,
    CancelRequested,
    Completed,
    EventKind,
    Failed,
    Response,
    RunStatus,
    TerminationReason,
    Usage,
)
from core.store import AuditQuery, CancelFacts, Claim, Commit, Store, Verdict
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
    tool_step,
)
from tests.core.store.conftest import StoreFactory
from tests.fakes.memory_store import MemoryStore

BOUNDARY, ABORT = CancelLevel.BOUNDARY, CancelLevel.ABORT
VERDICTS = {BOUNDARY: Verdict.STOP, ABORT: Verdict.ABORT}


async def stop(store: Store, level: CancelLevel = BOUNDARY, run_id: str = RUN) -> CancelReceipt:
    return await store.cancel(run_id, level=level, by="me", reason="enough", at_us=7)


async def in_flight(store: Store) -> Claim:
    claim = await begin(store)
    await store.commit(
        Commit(
            claim=claim,
            intents=(tool_started("t1"), request("s1")),
            opened_steps=(tool_step("t1"), model_step("s1")),
            round=2,
        )
    )
    return claim


@pytest.mark.parametrize("level", [BOUNDARY, ABORT])
async def test_a_cancel_wins_the_row_at_once(store: Store, level: CancelLevel) -> None:
    await in_flight(store)
    receipt = await stop(store, level)
    assert receipt == CancelReceipt(
        changed=True,
        run_id=RUN,
        status_before="running",
        level=level,
        in_flight=(tool_step("t1"), model_step("s1")),
        durable=True,
    )
    found = await store.get_run(RUN)
    assert found is not None
    assert found.cancelling
    assert found.termination_reason is TerminationReason.CANCELLED
    assert (found.cancel_us, found.cancel_by, found.cancel_reason) == (7, "me", "enough")
    assert (found.level, found.cancel_seq, found.next_seq) == (level, 3, 4)
    assert found.owner == store.owner
    assert (await store.read_events(RUN, after=2, limit=9)) == [
        CancelRequested(
            run_id=RUN,
            seq=3,
            at_us=7,
            round=2,
            level=level,
            by="me",
            reason="enough",
            in_flight=receipt.in_flight,
        )
    ]


async def test_a_cancel_leaves_an_audit_row(store: Store) -> None:
    await begin(store)
    await stop(store)
    (row,) = await store.audit_page(AuditQuery())
    assert row.action is AuditAction.RUN_CANCEL_REQUESTED
    assert (row.run_id, row.actor, row.at_us, row.success) == (RUN, "me", 7, True)


async def test_cancelling_an_unknown_run_says_so_and_leaves_nothing(store: Store) -> None:
    with pytest.raises(UnknownRun):
        await stop(store, run_id="nope")
    assert await store.audit_page(AuditQuery()) == []


@pytest.mark.parametrize("level", [BOUNDARY, ABORT])
async def test_after_a_cancel_outcomes_are_stored_and_intents_are_not(
    store: Store, level: CancelLevel
) -> None:
    claim = await in_flight(store)
    await stop(store, level)
    committed = await store.commit(
        Commit(
            claim=claim,
            outcomes=(tool("t1"),),
            intents=(request("s2"),),
            open_steps=(model_step("s1"),),
            opened_steps=(model_step("s1"), model_step("s2")),
            tool_calls=1,
        )
    )
    assert committed.verdict is VERDICTS[level]
    assert committed.events == (replace(tool("t1"), seq=4),)
    assert committed.next_seq == 5
    assert committed.cancel == CancelFacts(at_us=7, by="me", reason="enough", level=level, seq=3)
    found = await store.get_run(RUN)
    assert found is not None
    assert found.open_steps == (model_step("s1"),)
    assert [event.seq for event in await store.read_events(RUN, after=-1, limit=9)] == [*range(5)]


async def test_a_commit_without_intents_tells_of_the_cancel_too(store: Store) -> None:
    claim = await in_flight(store)
    await stop(store)
    assert (await store.commit(Commit(claim=claim))).verdict is Verdict.STOP


async def test_without_the_fence_an_intent_is_stored_after_the_cancel(
    store_factory: StoreFactory,
) -> None:
    """The fence is what the tests above see: without it they would fail."""
    store = await store_factory(fenced=False)
    claim = await in_flight(store)
    await stop(store)
    committed = await store.commit(
        Commit(claim=claim, intents=(request("s2"),), opened_steps=(model_step("s2"),))
    )
    assert committed.verdict is Verdict.GO
    assert committed.events == (replace(request("s2"), seq=4),)
    assert committed.cancel is not None
    found = await store.get_run(RUN)
    assert found is not None
    assert found.open_steps == (model_step("s2"),)


async def test_the_level_is_only_ever_raised(store: Store) -> None:
    await in_flight(store)
    await stop(store, BOUNDARY)
    again = await stop(store, BOUNDARY)
    assert (again.changed, again.why) == (False, "already requested at this level")
    assert (again.status_before, again.level) == ("cancelled", BOUNDARY)
    raised = await store.cancel(RUN, level=ABORT, by="you", reason="now", at_us=8)
    assert (raised.changed, raised.status_before, raised.level) == (True, "cancelled", ABORT)
    assert raised.in_flight == again.in_flight == (tool_step("t1"), model_step("s1"))
    lower = await stop(store, BOUNDARY)
    assert (lower.changed, lower.level) == (False, ABORT)
    assert lower.why == "already requested at this level"
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.cancel_us, found.cancel_by, found.cancel_reason) == (7, "me", "enough")
    assert (found.level, found.cancel_seq, found.next_seq) == (ABORT, 3, 5)
    first, second = await store.read_events(RUN, after=2, limit=9)
    assert isinstance(first, CancelRequested)
    assert isinstance(second, CancelRequested)
    assert (first.level, second.level, second.by, second.reason) == (BOUNDARY, ABORT, "you", "now")
    assert len(await store.audit_page(AuditQuery())) == 2


@pytest.mark.parametrize("end", [completed(), failed()])
async def test_a_cancel_after_the_end_changes_nothing(
    store: Store, end: Completed | Failed
) -> None:
    claim = await begin(store)
    await store.commit(Commit(claim=claim, close=end))
    before = await store.get_run(RUN)
    assert before is not None
    receipt = await stop(store, ABORT)
    assert receipt == CancelReceipt(
        changed=False,
        run_id=RUN,
        status_before=before.status.value,
        level=None,
        why=f"already {before.status}",
    )
    assert await store.get_run(RUN) == before
    assert await store.audit_page(AuditQuery()) == []


@pytest.mark.parametrize("end", [completed(), failed()])
async def test_a_cancelled_run_never_ends_otherwise(store: Store, end: Completed | Failed) -> None:
    claim = await in_flight(store)
    await stop(store)
    committed = await store.commit(Commit(claim=claim, outcomes=(response("s1"),), close=end))
    assert (committed.verdict, committed.closed) == (Verdict.STOP, False)
    assert committed.events == (replace(response("s1"), seq=4),)
    found = await store.get_run(RUN)
    assert found is not None
    assert found.cancelling
    assert found.usage == SPENT


@pytest.mark.parametrize("level", [BOUNDARY, ABORT])
async def test_the_owner_closes_a_cancelled_run(store: Store, level: CancelLevel) -> None:
    claim = await in_flight(store)
    await stop(store, level)
    end = cancelled(level)
    committed = await store.commit(Commit(claim=claim, outcomes=(response("s1"),), close=end))
    assert (committed.verdict, committed.closed) == (VERDICTS[level], True)
    assert committed.events == (replace(response("s1"), seq=4), replace(end, seq=5))
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.status, found.cancelling, found.owner) == (RunStatus.CANCELLED, False, None)
    again = await stop(store, ABORT)
    assert (again.changed, again.why, again.in_flight) == (False, "already cancelled", ())
    assert again.level is level
    assert (await store.read_events(RUN, after=4, limit=9)) == [replace(end, seq=5)]


async def test_an_end_with_an_outdated_level_is_not_stored(store: Store) -> None:
    claim = await in_flight(store)
    await stop(store, BOUNDARY)
    await stop(store, ABORT)
    stale = await store.commit(Commit(claim=claim, close=cancelled(BOUNDARY)))
    assert (stale.verdict, stale.closed, stale.events) == (Verdict.ABORT, False, ())
    assert stale.cancel is not None
    assert stale.cancel.level is ABORT
    fresh = await store.commit(Commit(claim=claim, close=cancelled(ABORT)))
    assert fresh.closed


async def test_a_run_that_nobody_owns_is_closed_by_its_cancel(
    store: Store, store_factory: StoreFactory
) -> None:
    claim = await in_flight(store)
    await store.commit(Commit(claim=claim, outcomes=(response("s1"),), tool_calls=1))
    await disown(store)
    seen: list[object] = []
    store.subscribe(seen.extend)
    receipt = await stop(store)
    assert (receipt.changed, receipt.in_flight) == (True, ())
    found = await store.get_run(RUN)
    assert found is not None
    assert (found.status, found.closed_us) == (RunStatus.CANCELLED, 7)
    requested, end = await store.read_events(RUN, after=3, limit=9)
    assert isinstance(requested, CancelRequested)
    assert isinstance(end, Cancelled)
    assert seen == [requested, end]
    assert end.receipt.usage == end.usage == SPENT
    assert end.receipt.usage_in_flight == end.receipt.usage_after_request == Usage()
    assert (end.receipt.boundary, end.receipt.level, end.rounds, end.tool_calls) == (
        None,
        BOUNDARY,
        2,
        1,
    )
    assert (await store.commit(Commit(claim=claim))).verdict is Verdict.LOST


async def disown(store: Store) -> None:
    """Let go of a run, as the queue will."""
    if isinstance(store, MemoryStore):
        run = store.database.runs[RUN]
        store.database.runs[RUN] = replace(run, owner=None)
    else:
        from core.store import SqliteStore

        assert isinstance(store, SqliteStore)
        await store._write(
            lambda transaction: transaction.connection.execute("UPDATE run SET owner = NULL"),
            durable=False,
        )


async def test_a_canceller_elsewhere_keeps_the_seq_dense(
    store: Store, store_factory: StoreFactory
) -> None:
    elsewhere = await store_factory()
    claim = await begin(store)

    reached = asyncio.Event()

    async def drive() -> None:
        verdict, number = Verdict.GO, 0
        while verdict is Verdict.GO:
            committed = await store.commit(
                Commit(
                    claim=claim,
                    outcomes=(response(f"s{number - 1}"),) if number else (),
                    intents=(request(f"s{number}"),),
                    opened_steps=(model_step(f"s{number}"),),
                )
            )
            verdict, number = committed.verdict, number + 1
            if number == 5:
                reached.set()

    async def interfere() -> CancelReceipt:
        await reached.wait()
        return await stop(elsewhere)

    _, receipt = await asyncio.gather(drive(), interfere())
    assert receipt.changed
    events = await store.read_events(RUN, after=-1, limit=10_000)
    assert [event.seq for event in events] == [*range(len(events))]
    kinds = [event.kind for event in events]
    cut = kinds.index(EventKind.CANCEL_REQUESTED)
    assert EventKind.REQUEST not in kinds[cut:]
    (still_open,) = receipt.in_flight
    assert [event.step for event in events[cut:] if isinstance(event, Response)] == [
        still_open.step
    ]
