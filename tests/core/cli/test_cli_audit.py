from __future__ import annotations

from pathlib import Path

from core.store.sqlite._driver import connect
from tests.core.cli.conftest import Cli

COLUMNS = [
    "seq", "at", "action", "success", "status", "method", "host", "path",
    "credential", "run_id", "step", "call_id", "actor", "message",
]  # fmt: skip


def test_list_filters_and_limits_newest_first(cli: Cli) -> None:
    run = cli("run", "x", "--json").records[0]["run_id"]
    cli("run", "x", "--model", "demo/denied")
    records = cli("audit", "list", "--json").records
    assert list(records[0]) == COLUMNS
    assert [record["seq"] for record in records] == list(range(len(records), 0, -1))
    calls = cli("audit", "list", "--action", "http_call", "--run", run, "--json").records
    assert len(calls) == 4
    assert {call["run_id"] for call in calls} == {run}
    both = cli("audit", "list", "--action", "http_call", "--action", "secret_created", "--json")
    assert len(both.records) == len(records)
    assert [r["seq"] for r in cli("audit", "list", "--limit", "2", "--json").records] == [
        len(records),
        len(records) - 1,
    ]
    assert cli("audit", "list", "--action", "http_call_cancelled", "--json").out == ""
    text = cli("audit", "list").out.splitlines()
    assert len(text) == len(records)
    assert "credential demo" in text[0]


def test_list_takes_times_in_both_forms(cli: Cli) -> None:
    cli("run", "x")
    rows = cli("audit", "list", "--json").records
    assert cli("audit", "list", "--since", "10m", "--json").records == rows
    assert cli("audit", "list", "--until", "10m", "--json").out == ""
    middle = rows[1]["at"]
    newer = cli("audit", "list", "--since", middle, "--json").records
    older = cli("audit", "list", "--until", middle, "--json").records
    assert newer + older == rows
    assert newer[-1]["at"] == middle
    bad = cli("audit", "list", "--since", "yesterday")
    assert bad.code == 2
    assert "--since 'yesterday'" in bad.err


def test_show_gives_the_chain_too(cli: Cli) -> None:
    cli("run", "x")
    record = cli("audit", "show", "1", "--json").record
    assert record["action"] == "secret_created"
    assert len(record["mac"]) == 64
    assert record["key_id"]
    assert "secret_created" in cli("audit", "show", "1").out
    assert cli("audit", "show", "900").code == 2
    assert cli("audit", "show", "0").code == 2


def test_unknown_action_gets_the_nearest_name(cli: Cli) -> None:
    ended = cli("audit", "list", "--action", "http_calls")
    assert ended.code == 2
    assert "Did you mean http_call?" in ended.err


def test_verify_is_green_and_turns_red_on_an_edited_row(cli: Cli, database: Path) -> None:
    cli("run", "x")
    green = cli("audit", "verify", "--json")
    assert green.code == 0
    assert green.record["ok"] is True
    assert green.record["rows"] == 5
    assert "intact: 5 rows" in cli("audit", "verify").out

    connection = connect(database)
    connection.execute("DROP TRIGGER audit_no_update")
    connection.execute("UPDATE audit SET actor = 'somebody else' WHERE seq = 3")
    connection.commit()
    connection.close()

    red = cli("audit", "verify", "--json")
    assert red.code == 5
    assert red.record == {"ok": False, "rows": 5, "findings": [{"reason": "edited", "seq": 3}]}
    assert "row 3: edited" in cli("audit", "verify").out


def test_verify_of_no_database_makes_none(cli: Cli, database: Path) -> None:
    ended = cli("audit", "verify")
    assert ended.code == 2
    assert ended.out == ""
    assert not database.exists()
