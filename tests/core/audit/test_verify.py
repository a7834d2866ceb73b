from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.audit import Reason, verify
from core.errors import SecretUnavailable, StoreError
from core.keys import FileKeyProvider, MasterKey
from tests.core.audit.logs import KEY, ROWS, copy_log, tampering, write_log

COLUMNS = (
    "at_us, action, success, status, method, host, path, credential, run_id, step, call_id, "
    "actor, message, key_id, mac"
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(write_log(tmp_path_factory.mktemp("log") / "log.db", ROWS))


@pytest.fixture
def log(original: Path, tmp_path: Path) -> Path:
    return copy_log(original, tmp_path / "log.db")


def found(path: Path, key: MasterKey = KEY) -> list[tuple[str, int]]:
    result = verify(path, key=key)
    assert result.ok == (not result.findings)
    return [(reason.value, seq) for reason, seq in result.findings]


def tamper(path: Path, *statements: str) -> list[tuple[str, int]]:
    with tampering(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return found(path)


def renumber(seq: str, by: int) -> tuple[str, str]:
    """Return statements that move rows without two of them meeting."""
    return (
        f"UPDATE audit SET seq = -(seq + {by}) WHERE {seq}",
        "UPDATE audit SET seq = -seq WHERE seq < 0",
    )


def forge(seq: int, *, like: int = 1, call: str = "forged") -> str:
    columns = COLUMNS.replace("call_id", f"'{call}'").replace("mac", "randomblob(32)")
    return f"INSERT INTO audit SELECT {seq}, {columns} FROM audit WHERE seq = {like}"


def test_an_intact_log_is_ok(log: Path) -> None:
    result = verify(log, key=KEY)
    assert (result.ok, result.rows, result.findings) == (True, ROWS, ())


@pytest.mark.parametrize("seq", [1, 5, ROWS])
@pytest.mark.parametrize(
    "change",
    [
        "at_us = at_us + 1",
        "action = 'http_call_cancelled'",
        "action = 'nonsense'",
        "success = 0",
        "status = 404",
        "status = -1",
        "method = 'PUT'",
        "method = NULL",
        "host = 'other'",
        "host = ''",
        "path = '/v2'",
        "path = CAST(x'ff' AS TEXT)",
        "credential = NULL",
        "run_id = 'other'",
        "step = 'm0'",
        "call_id = NULL",
        "actor = 'somebody'",
        "message = 'x'",
        "message = ''",
        "key_id = 'other'",
        "mac = randomblob(32)",
        "mac = x''",
    ],
)
def test_one_edited_row_is_one_finding(log: Path, change: str, seq: int) -> None:
    assert tamper(log, f"UPDATE audit SET {change} WHERE seq = {seq}") == [("edited", seq)]


def test_each_edited_row_is_found(log: Path) -> None:
    change = "UPDATE audit SET status = 500 WHERE seq IN (2, 3, 7, 12)"
    assert tamper(log, change) == [("edited", 2), ("edited", 3), ("edited", 7), ("edited", 12)]


def test_two_fields_that_trade_text_are_an_edit(log: Path) -> None:
    change = "UPDATE audit SET host = path || host, path = '' WHERE seq = 4"
    assert tamper(log, change) == [("edited", 4)]


def test_a_row_that_was_replaced_is_found(log: Path) -> None:
    changes = ("DELETE FROM audit WHERE seq = 5", forge(5))
    assert tamper(log, *changes)[0] == ("edited", 5)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("seq = 1", [("missing", 1)]),
        ("seq = 5", [("missing", 5)]),
        ("seq BETWEEN 5 AND 8", [("missing", 5)]),
        ("seq IN (3, 4, 9)", [("missing", 3), ("missing", 9)]),
        ("seq % 2 = 1", [("missing", seq) for seq in range(1, ROWS, 2)]),
        ("seq < 12", [("missing", 1)]),
    ],
)
def test_deleted_rows_are_missing_from_the_first_on(
    log: Path, where: str, expected: list[tuple[str, int]]
) -> None:
    assert tamper(log, f"DELETE FROM audit WHERE {where}") == expected


def test_an_edit_after_a_hole_is_found_too(log: Path) -> None:
    changes = (
        "DELETE FROM audit WHERE seq = 3",
        "UPDATE audit SET status = 500 WHERE seq = 8",
    )
    assert tamper(log, *changes) == [("missing", 3), ("edited", 8)]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (5, 5), (4, 7), (10, 10)])
def test_a_hole_that_was_closed_by_renumbering_is_one_finding(
    log: Path, first: int, last: int
) -> None:
    changes = (
        f"DELETE FROM audit WHERE seq BETWEEN {first} AND {last}",
        *renumber(f"seq > {last}", first - last - 1),
    )
    assert tamper(log, *changes) == [("missing", first)]


def test_a_closed_hole_before_the_last_row_is_found(log: Path) -> None:
    changes = ("DELETE FROM audit WHERE seq = 11", *renumber("seq = 12", -1))
    assert tamper(log, *changes) == [("edited", 11)]


@pytest.mark.parametrize(("first", "count"), [(1, 1), (5, 1), (5, 3), (12, 1)])
def test_inserted_rows_are_one_finding(log: Path, first: int, count: int) -> None:
    changes = (
        *renumber(f"seq >= {first}", 100),
        *(forge(first + number, like=112, call=f"f{number}") for number in range(count)),
        *renumber("seq > 50", count - 100),
    )
    assert tamper(log, *changes) == [("inserted", first)]


def test_a_forged_row_at_the_end_is_found(log: Path) -> None:
    assert [seq for _, seq in tamper(log, forge(ROWS + 1))] == [ROWS + 1]


def test_a_row_before_the_first_is_inserted(log: Path) -> None:
    assert tamper(log, forge(-3)) == [("inserted", 1)]


@pytest.mark.parametrize(
    ("one", "other"), [(1, 2), (4, 5), (11, 12), (1, 12), (3, 9), (2, 4), (10, 12)]
)
def test_swapped_rows_are_one_finding(log: Path, one: int, other: int) -> None:
    changes = (
        f"UPDATE audit SET seq = -1 WHERE seq = {one}",
        f"UPDATE audit SET seq = {one} WHERE seq = {other}",
        f"UPDATE audit SET seq = {other} WHERE seq = -1",
    )
    assert tamper(log, *changes) == [("reordered", one)]


def test_swapped_contents_under_the_old_macs_are_one_finding(log: Path) -> None:
    with tampering(log) as connection:
        (three,) = connection.execute("SELECT mac FROM audit WHERE seq = 3").fetchone()
        (eight,) = connection.execute("SELECT mac FROM audit WHERE seq = 8").fetchone()
        connection.execute("UPDATE audit SET seq = -1 WHERE seq = 3")
        connection.execute("UPDATE audit SET seq = 3, mac = ? WHERE seq = 8", (three,))
        connection.execute("UPDATE audit SET seq = 8, mac = ? WHERE seq = -1", (eight,))
    assert found(log) == [("reordered", 3)]


def test_the_only_two_rows_swapped_are_one_finding(log: Path) -> None:
    changes = (
        "DELETE FROM audit WHERE seq > 2",
        "UPDATE audit SET seq = 3 - seq - 10 WHERE seq < 3",
        "UPDATE audit SET seq = seq + 10",
    )
    assert tamper(log, *changes) == [("reordered", 1)]


def test_two_swaps_are_two_findings(log: Path) -> None:
    changes = [
        f"UPDATE audit SET seq = {new} WHERE seq = {old}"
        for one, other in ((2, 5), (8, 11))
        for old, new in ((one, -1), (other, one), (-1, other))
    ]
    assert tamper(log, *changes) == [("reordered", 2), ("reordered", 8)]


@pytest.mark.parametrize(("seq", "target"), [(5, 13), (5, 40), (1, 99), (12, 40), (6, 2**62)])
def test_a_row_that_got_another_number_is_one_finding(log: Path, seq: int, target: int) -> None:
    changes = (f"UPDATE audit SET seq = {target} WHERE seq = {seq}",)
    assert tamper(log, *changes) == [("reordered", seq)]


def test_rows_pushed_to_higher_numbers_are_one_finding(log: Path) -> None:
    assert tamper(log, *renumber("seq >= 6", 20)) == [("reordered", 6)]


async def test_the_log_of_another_database_is_replaced(log: Path, tmp_path: Path) -> None:
    other = await write_log(tmp_path / "other.db", 6)
    with tampering(log) as connection:
        connection.execute("DELETE FROM audit")
        connection.execute("ATTACH ? AS other", (str(other),))
        connection.execute("INSERT INTO audit SELECT * FROM other.audit")
    assert found(log) == [("replaced", 0)]


def test_a_log_under_another_database_id_is_replaced(log: Path) -> None:
    assert tamper(log, "UPDATE meta SET value = 'x' WHERE name = 'database_id'") == [
        ("replaced", 0)
    ]


def test_another_key_proves_nothing(log: Path) -> None:
    assert found(log, MasterKey(b"x" * 32)) == [("key_unknown", 1)]


async def test_rows_of_another_key_are_named(log: Path, tmp_path: Path) -> None:
    await write_log(log, 0)  # opens, as any process would
    with tampering(log) as connection:
        connection.execute(forge(13).replace("key_id", "'ffffffffffffffff'"))
        connection.execute("UPDATE audit SET status = 404 WHERE seq = 4")
    assert found(log) == [("edited", 4), ("key_unknown", 13)]


def test_an_empty_log_is_ok(log: Path) -> None:
    assert tamper(log, "DELETE FROM audit") == []


def test_a_table_of_any_values_is_no_crash(log: Path) -> None:
    with tampering(log) as connection:
        connection.execute("ALTER TABLE audit RENAME TO old")
        connection.execute(f"CREATE TABLE audit (seq, {COLUMNS})")
        connection.execute("INSERT INTO audit SELECT * FROM old WHERE seq < 5")
        values: list[Any] = [5, "x", None, 2**40, -1, b"x", 1.5, *([None] * 7), 7, None]
        connection.execute(f"INSERT INTO audit VALUES ({','.join('?' * 16)})", values)
        connection.execute(f"INSERT INTO audit VALUES ({','.join('?' * 16)})", ["x", *values[1:]])
    assert [seq for _, seq in found(log)] == [5, 6]


def test_a_rewritten_log_has_a_bounded_report(log: Path) -> None:
    bad = "randomblob(32)"
    with tampering(log) as connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 13 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
            f"INSERT INTO audit SELECT i, {COLUMNS.replace('call_id', 'NULL').replace('mac', bad)} "
            "FROM audit, n WHERE seq = 1"
        )
    result = verify(log, key=KEY)
    assert result.rows == 5000
    assert len(result.findings) == 1000
    assert result.findings[0] == (Reason.EDITED, 13)


async def test_the_default_key_is_the_key_files(tmp_path: Path) -> None:
    path = await write_log(tmp_path / "log.db", 3, key=FileKeyProvider().master_key(make=True))
    assert verify(path).ok
    assert verify(str(path)).rows == 3


def test_verifying_makes_no_key(log: Path) -> None:
    with pytest.raises(SecretUnavailable):
        verify(log)
    assert not FileKeyProvider().path.exists()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        verify(tmp_path / "none.db", key=KEY)
    (tmp_path / "text.db").write_text("no database" * 1000)
    with pytest.raises(StoreError):
        verify(tmp_path / "text.db", key=KEY)
