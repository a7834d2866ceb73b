"""Ids and names that no database can hold belong to nothing."""

from __future__ import annotations

import pytest

from core.errors import UnknownRun
from core.model import CancelLevel
from core.store import AuditQuery, Store
from tests.core.store.builders import begin, entry


@pytest.mark.parametrize("name", ["", "\ud800", "a\udcff", "a\0b", "\U0001f600"])
async def test_a_name_that_is_not_there_is_not_found(store: Store, name: str) -> None:
    await begin(store)
    assert await store.get_run(name) is None
    assert await store.list_runs(limit=9, before=name) == []
    assert await store.read_events(name, after=-1, limit=9) == []
    assert await store.audit_page(AuditQuery(run_id=name)) == []
    assert await store.audit_count(AuditQuery(run_id=name)) == 0
    assert await store.get_secret(name) is None
    assert not await store.delete_secret(name, entry())
    with pytest.raises(UnknownRun):
        await store.cancel(name, level=CancelLevel.BOUNDARY, by="me", reason="", at_us=1)
