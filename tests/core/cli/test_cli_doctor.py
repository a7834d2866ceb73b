from __future__ import annotations

from pathlib import Path

import pytest

from core.config import config_path
from core.keys import FileKeyProvider
from core.store.sqlite._driver import connect
from tests.core.cli.conftest import Cli

CHECKS = [
    "python", "sqlite", "libcurl", "config", "key",
    "database", "secrets", "audit", "demo", "terminal", "locale",
]  # fmt: skip


def statuses(cli: Cli) -> dict[str, str]:
    return {record["check"]: record["status"] for record in cli("doctor", "--json").records}


def test_fresh_machine_is_fine_and_stays_untouched(cli: Cli, database: Path, home: Path) -> None:
    ended = cli("doctor", "--json")
    assert [record["check"] for record in ended.records] == CHECKS
    assert all(set(r) == {"check", "status", "detail", "hint"} for r in ended.records)
    assert not [record for record in ended.records if record["status"] == "fail"]
    assert ended.code == 0
    assert not database.exists()
    assert not list(home.rglob("*.key"))
    assert cli("doctor").out.count("\n") >= len(CHECKS)


def test_used_database_is_checked(cli: Cli) -> None:
    cli("run", "x")
    details = {record["check"]: record["detail"] for record in cli("doctor", "--json").records}
    assert details["database"].endswith(": intact")
    assert details["audit"] == "5 rows, chain intact"
    assert "mode 0600" in details["key"]


def test_key_beside_the_database_is_warned_of(
    cli: Cli, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYGROUND_KEY_FILE", str(database.parent / "master.key"))
    assert statuses(cli)["key"] == "warn"
    cli("run", "x")
    assert statuses(cli)["key"] == "warn"
    (database.parent / "master.key").chmod(0o644)
    assert statuses(cli)["key"] == "fail"


def test_place_that_may_not_be_looked_at_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refuse)
    found = statuses(cli)
    assert (found["key"], found["database"], found["python"]) == ("fail", "fail", "ok")


def test_tampered_log_fails(cli: Cli, database: Path) -> None:
    cli("run", "x")
    connection = connect(database)
    connection.execute("DROP TRIGGER audit_no_update")
    connection.execute("UPDATE audit SET status = 500 WHERE seq = 4")
    connection.commit()
    connection.close()
    ended = cli("doctor", "--json")
    assert ended.code == 1
    [failed] = [record for record in ended.records if record["status"] == "fail"]
    assert failed["check"] == "audit"
    assert "row 4 edited" in failed["detail"]


def test_broken_parts_fail_one_by_one(
    cli: Cli, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("run", "x")
    config, _ = config_path()
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[nope]\n")
    FileKeyProvider().path.chmod(0o644)
    monkeypatch.setenv("PLAYGROUND_DEMO_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("SSLKEYLOGFILE", "/tmp/keys")
    found = statuses(cli)
    failed = {check for check, status in found.items() if status == "fail"}
    assert failed == {"config", "key", "database", "secrets", "audit", "demo", "libcurl"}
    assert cli("doctor").code == 1


def test_file_that_is_no_database_fails(cli: Cli, database: Path) -> None:
    database.parent.mkdir()
    database.write_bytes(b"hello, this is text\n" * 100)
    assert statuses(cli)["database"] == "fail"
    assert database.read_bytes() == b"hello, this is text\n" * 100


def test_place_where_no_database_can_be_fails(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = cli("doctor", "--json", "--db", str(tmp_path / "file" / "x.db"))
    assert ended.code == 1
    assert {r["check"] for r in ended.records if r["status"] == "fail"} >= {"database"}
