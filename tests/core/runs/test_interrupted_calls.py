"""Calls that a process died in are named by whichever runtime has the store open."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from core.model import AuditAction, AuditRow
from core.store import AuditQuery
from core.store.sqlite._driver import connect
from tests.core.runs.rig import Rig, rigged
from tests.core.store.builders import begin, entry
from tests.support.runtime import open_store
from tests.support.waiting import until

INTERRUPTED = AuditQuery(actions=(AuditAction.HTTP_CALL_INTERRUPTED,))


async def interrupted(rig: Rig) -> list[AuditRow]:
    return await rig.runtime.audit.page(INTERRUPTED)


async def test_a_runtime_names_them_when_it_opens(tmp_path: Path) -> None:
    dead = await open_store(tmp_path / "runs.db")
    await dead.begin_call(entry(call_id="c1"))
    await dead.close()
    async with rigged(tmp_path) as rig:
        (row,) = await interrupted(rig)
        assert (row.call_id, row.success, row.status) == ("c1", False, 0)
        assert row.at_us == rig.clock.now_us()


async def test_a_runtime_names_them_while_it_is_open_and_tells_its_listeners(
    tmp_path: Path,
) -> None:
    async with rigged(tmp_path) as rig:
        other = await open_store(tmp_path / "runs.db")
        await other.begin_call(entry(call_id="c1"))
        await rig.pass_time(2.5)
        assert await interrupted(rig) == []
        await other.close()
        told: list[str] = []
        rig.runtime.audit.subscribe(lambda: told.append("told"))
        rig.clock.advance(1.1)
        await until(lambda: told, "the row")
        assert [row.call_id for row in await interrupted(rig)] == ["c1"]


async def test_calls_that_cannot_be_named_now_keep_no_runtime_closed(tmp_path: Path) -> None:
    dead = await open_store(tmp_path / "runs.db")
    await dead.begin_call(entry(call_id="c1"))
    await dead.close()
    async with rigged(tmp_path) as rig:
        other = await open_store(tmp_path / "runs.db")
        await other.begin_call(entry(call_id="c2"))
        await other.close()
        rig.store.audit_down = True
        await rig.pass_time(2.5)
        rig.store.audit_down = False
        told: list[str] = []
        rig.runtime.audit.subscribe(lambda: told.append("told"))
        await rig.pass_time(1.1)
        await until(lambda: told, "the rows")
        assert {row.call_id for row in await interrupted(rig)} == {"c1", "c2"}


async def test_a_damaged_intent_keeps_no_run_open(tmp_path: Path) -> None:
    dead = await open_store(tmp_path / "runs.db")
    await begin(dead, "r1")
    await dead.begin_call(entry(call_id="c1"))
    await dead.close()
    with closing(connect(tmp_path / "runs.db")) as connection:
        connection.execute("UPDATE call_intent SET host = CAST(x'ff' AS TEXT)")
    async with rigged(tmp_path) as rig:
        row = await rig.runtime.status("r1")
        assert row.closed_us is not None
