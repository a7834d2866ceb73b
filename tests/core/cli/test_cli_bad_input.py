from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import pytest

from core.store.sqlite._driver import connect
from tests.core.cli.conftest import Cli


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize(
    ("argv", "parts"),
    [
        ((), ["Name a command"]),
        (("rnu",), ["No such command", "Did you mean 'run'"]),
        (("run",), ["Missing argument 'PROMPT'", "playground run --help"]),
        (("run", "x", "--nope"), ["No such option"]),
        (("run", "x", "y"), ["unexpected"]),
        (("run", ""), ["The prompt is empty"]),
        (("run", " \n "), ["The prompt is empty"]),
        (("run", "\udcff"), ["not UTF-8"]),
        (("run", "x", "--model", "demo/esay"), ["no such model", "Did you mean demo/essay?"]),
        (("run", "x", "--tool", "get_wether"), ["no such tool", "Did you mean get_weather?"]),
        (("run", "x", "--max-rounds", "0"), ["--max-rounds"]),
        (("run", "x", "--max-tokens", "many"), ["--max-tokens"]),
        (("run", "x", "--max-tool-calls", "-1"), ["--max-tool-calls"]),
        (("run", "x", "--temperature", "2.1"), ["--temperature"]),
        (("run", "x", "--temperature", "nan"), ["temperature"]),
        (("run", "x", "--db"), ["--db needs a value"]),
        (("run", "x", "--config", "/nope.toml"), ["no such configuration file", "/nope.toml"]),
        (("run", "x", "--db", "postgresql://u:pw@h/x"), ["postgresql://…", "SQLite"]),
        (("runs", "attach", "x", "--after", "-2"), ["--after"]),
        (("audit", "show", "one"), ["SEQ"]),
        (("demo-server", "--port", "70000"), ["--port"]),
    ],
)
def test_bad_command_line_exits_2_with_a_clear_message(
    cli: Cli, tmp_path: Path, argv: tuple[str, ...], parts: list[str]
) -> None:
    ended = cli(*argv)
    assert ended.code == 2
    assert ended.out == ""
    for part in parts:
        assert part in ended.err
    assert "Traceback" not in ended.err
    as_json = cli(*argv, "--json") if argv[-1:] != ("--db",) else cli("--json", *argv)
    assert as_json.code == 2
    assert as_json.out == ""
    error = json.loads(as_json.err)
    assert error["exit_code"] == 2
    assert set(error) == {"error", "what", "where", "hint", "exit_code"}


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"[models.a\n", "config.toml:1"),
        (b"\0" * 512, "NUL"),
        (b"[models.a]\nprovider = 'x'\nbase_url = 'https://h'\nmodel = 'm'\n", "openai-chat"),
        (b"\xff", "UTF-8"),
    ],
)
@pytest.mark.parametrize("argv", [("run", "x"), ("models",), ("runs", "list")])
def test_bad_configuration_exits_2_and_creates_nothing(
    cli: Cli, tmp_path: Path, database: Path, argv: tuple[str, ...], content: bytes, part: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    ended = cli(*argv, "--config", str(path))
    assert ended.code == 2
    assert ended.err.startswith("Configuration error: ")
    assert part in ended.err
    assert not database.exists()


def test_file_that_is_no_database_is_left_alone(cli: Cli, database: Path) -> None:
    database.parent.mkdir()
    database.write_bytes(b"my shopping list\n" * 300)
    before = snapshot(database.parent)
    for argv in (("run", "x"), ("runs", "list"), ("audit", "verify"), ("secret", "list")):
        ended = cli(*argv)
        assert ended.code == 2
        assert ended.err.startswith("Store error: ")
        assert str(database) in ended.err
    assert snapshot(database.parent) == before


def test_directory_in_place_of_a_database_is_refused(cli: Cli, tmp_path: Path) -> None:
    ended = cli("run", "x", "--db", str(tmp_path))
    assert ended.code == 2
    assert str(tmp_path) in ended.err


def test_place_where_nothing_can_be_written_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = cli("run", "x", "--db", str(tmp_path / "file" / "x.db"))
    assert ended.code == 2
    assert "x.db" in ended.err
    ended = cli("run", "x", "--db", "/proc/nowhere/x.db")
    assert ended.code == 2


def test_database_from_the_future_can_be_read_and_not_written(cli: Cli, database: Path) -> None:
    cli("run", "x")
    rows = cli("runs", "list", "--json").out
    connection = connect(database)
    connection.execute("PRAGMA user_version = 9000")
    connection.commit()
    connection.close()
    listed = cli("runs", "list", "--json")
    assert (listed.code, listed.out) == (0, rows)
    assert "later version" in listed.err
    for argv in (("run", "x"), ("secret", "delete", "demo")):
        ended = cli(*argv)
        assert ended.code == 2
        assert "Database from a later version" in ended.err
    assert cli("runs", "list", "--json").out == rows


def test_port_in_use_is_named(cli: Cli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = cli("demo-server", "--port", str(port), "--json")
    assert ended.code == 2
    assert ended.out == ""
    assert str(port) in json.loads(ended.err)["where"]


def test_stdin_that_is_no_text_is_refused(cli: Cli) -> None:
    for data, part in ((b"\xff\xfe", "not UTF-8"), (b"a\0b", "NUL"), (b"", "empty")):
        ended = cli("run", "-", stdin=data)
        assert ended.code == 2
        assert part in ended.err


def test_unexpected_error_is_short_and_shows_a_traceback_only_when_asked(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        canary = "local-canary"
        raise ZeroDivisionError(f"api_key=sk-{'a' * 40} {canary[:0]}")

    monkeypatch.setattr(asyncio, "run", broken)
    with pytest.warns(RuntimeWarning, match="never awaited"):
        ended = cli("runs", "list")
    assert ended.code == 1
    assert ended.err.startswith("Error: ZeroDivisionError: ")
    assert "sk-aaaa" not in ended.err
    assert "Traceback" not in ended.err
    monkeypatch.setenv("PLAYGROUND_DEBUG", "1")
    with pytest.warns(RuntimeWarning, match="never awaited"):
        ended = cli("runs", "list")
    assert "Traceback" in ended.err
    assert "sk-aaaa" not in ended.err
