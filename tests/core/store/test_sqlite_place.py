"""Which file a store is in: every name of one file is one store."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import StepbrakeError, StoreError
from core.store import database_file, open_audit_scan, open_sqlite
from core.store.sqlite._driver import connect
from tests.core.store.builders import RUN, entry, seal
from tests.core.store.child import Child


def by_link(folder: Path) -> Path:
    (folder / "link.db").symlink_to(folder / "real.db")
    return folder / "link.db"


def by_linked_folder(folder: Path) -> Path:
    (folder / "other").symlink_to(folder, target_is_directory=True)
    return folder / "other" / "real.db"


def by_a_way_round(folder: Path) -> Path:
    (folder / "sub").mkdir()
    return folder / "sub" / ".." / "real.db"


@pytest.mark.parametrize("spell", [by_link, by_linked_folder, by_a_way_round])
async def test_a_run_is_not_taken_from_a_living_owner_under_another_name(
    tmp_path: Path, spell: Callable[[Path], Path]
) -> None:
    with Child("own", tmp_path / "real.db", RUN) as child:
        owner = await asyncio.to_thread(child.line)
        store = await open_sqlite(spell(tmp_path), seal=seal)
        row = await store.get_run(RUN)
        assert row is not None
        assert row.owner == owner
        assert await store.take_over(row) is None
        await store.close()
    assert not list(tmp_path.glob("link.db?*"))


async def test_a_link_to_nothing_is_filled_where_it_points(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "new" / "real.db")
    store = await open_sqlite(tmp_path / "link.db", seal=seal)
    await store.append_audit(entry())
    await store.close()
    assert (tmp_path / "new" / "real.db").is_file()
    with open_audit_scan(tmp_path / "link.db") as scan:
        assert len(list(scan.rows)) == 1


def test_a_relative_path_is_one_of_this_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert database_file("x.db") == database_file(Path("x.db")) == tmp_path / "x.db"


@pytest.mark.parametrize("place", ["postgresql://me:hunter2@h/x", "a\0b.db", "a\udcff.db"])
async def test_what_is_no_path_is_refused_without_telling_a_password(place: str) -> None:
    for use in (database_file, lambda place: open_audit_scan(place).__enter__()):
        with pytest.raises(StoreError) as caught:
            use(place)
        assert "hunter2" not in f"{caught.value} {caught.value.where} {caught.value.hint}"
        assert caught.value.where
        assert caught.value.hint
    with pytest.raises(StoreError):
        await open_sqlite(place, seal=seal)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.parametrize(
    ("make", "what"),
    [(a_folder, "a folder"), (a_pipe, "no regular file"), (a_device, "no regular file")],
)
async def test_what_can_be_no_database_is_named(
    tmp_path: Path, make: Callable[[Path], None], what: str
) -> None:
    path = tmp_path / "x.db"
    make(path)
    with pytest.raises(StoreError, match=what):
        await open_sqlite(path, seal=seal)
    with pytest.raises(StoreError, match=what), open_audit_scan(path):
        pass
    assert list(tmp_path.iterdir()) == [path]


async def refusal(path: Path) -> StepbrakeError:
    with pytest.raises(StoreError) as caught:
        await open_sqlite(path, seal=seal)
    return caught.value


async def test_verifying_refuses_another_programs_database_as_opening_does(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    connection = connect(path, options="mode=rwc")
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    opening = await refusal(path)
    with pytest.raises(StoreError) as caught, open_audit_scan(path):
        pass
    assert (caught.value.what, caught.value.hint) == (opening.what, opening.hint)


def test_an_empty_file_has_no_log(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.touch()
    with pytest.raises(StoreError, match="empty"), open_audit_scan(path):
        pass
