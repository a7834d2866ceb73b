"""Arguments, key files and surroundings that nobody means well with."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import pwd
from pathlib import Path
from typing import NoReturn

import pytest

import core.cli._app
from core.keys import FileKeyProvider
from tests.core.cli.conftest import Cli

COMMANDS = (
    ("run", "{}"),
    ("run", "x", "--model", "{}"),
    ("run", "x", "--tool", "{}"),
    ("run", "x", "--system", "{}"),
    ("run", "x", "--after", "{}"),
    ("runs", "show", "{}"),
    ("runs", "events", "{}"),
    ("runs", "attach", "{}"),
    ("runs", "cancel", "{}"),
    ("runs", "cancel", "x", "--reason", "{}"),
    ("audit", "list", "--run", "{}"),
    ("audit", "list", "--action", "{}"),
    ("audit", "list", "--since", "{}"),
    ("audit", "show", "{}"),
    ("secret", "set", "{}"),
    ("secret", "set", "x", "--host", "{}"),
    ("secret", "set", "x", "--header", "{}"),
    ("secret", "delete", "{}"),
    ("demo-server", "--port", "{}"),
    ("models", "--db", "{}"),
    ("models", "--config", "{}"),
    ("{}",),
)


@pytest.mark.parametrize("argv", COMMANDS)
def test_argument_that_is_no_text_is_refused_by_every_command(
    cli: Cli, database: Path, argv: tuple[str, ...]
) -> None:
    for text, why in (("a\udcff", "is not UTF-8"), ("a\0b", "holds NUL")):
        ended = cli(*(part.format(text) for part in argv), stdin=b"v")
        assert ended.code == 2
        assert ended.out == ""
        place = argv.index("{}") + 1
        assert ended.err.startswith(f"Bad request: Argument {place} {why}")
    assert not database.exists()


@pytest.mark.parametrize(
    "argv",
    [
        ("audit", "show"),
        ("runs", "attach", "x", "--after"),
        ("run", "x", "--max-rounds"),
        ("run", "x", "--max-tokens"),
        ("audit", "list", "--limit"),
        ("demo-server", "--port"),
    ],
)
@pytest.mark.parametrize("number", ["9" * 30, "9" * 5_000, "-" + "9" * 30, "1e9", "0x10", "٣", ""])
def test_number_of_any_size_is_taken_or_refused_clearly(
    cli: Cli, argv: tuple[str, ...], number: str
) -> None:
    ended = cli(*argv, number)
    assert ended.code in (0, 2)
    assert "bug" not in ended.err
    assert "defect" not in ended.err


@pytest.mark.parametrize("place", ["a\udcff.db", "postgresql://me:hunter2@h/x", "."])
@pytest.mark.parametrize("argv", [("run", "x"), ("audit", "verify"), ("runs", "list"), ("doctor",)])
def test_store_from_the_environment_that_cannot_be_is_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, place: str, argv: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PLAYGROUND_DB", place)
    ended = cli(*argv)
    assert ended.code == (1 if argv == ("doctor",) else 2)
    assert "bug" not in ended.err
    assert "hunter2" not in ended.err + ended.out


def test_database_under_another_name_is_the_same_store(
    cli: Cli, database: Path, tmp_path: Path
) -> None:
    cli("run", "x")
    (tmp_path / "link.db").symlink_to(database)
    rows = cli("runs", "list", "--json").out
    assert cli("runs", "list", "--json", "--db", str(tmp_path / "link.db")).out == rows
    assert sorted(tmp_path.glob("link*")) == [tmp_path / "link.db"]


def test_unusable_key_file_is_a_configuration_error(cli: Cli) -> None:
    cli("run", "x")
    key = FileKeyProvider().path
    whole = key.read_bytes()
    for spoil in (lambda: key.chmod(0o644), lambda: key.write_bytes(b"nonsense")):
        spoil()
        for argv in (("run", "x"), ("runs", "list"), ("audit", "verify"), ("secret", "list")):
            ended = cli(*argv)
            assert ended.code == 2
            assert str(key) in ended.err
        key.write_bytes(whole)
        key.chmod(0o600)
    assert cli("audit", "verify").code == 0


def test_lost_key_harms_neither_secrets_nor_log(cli: Cli) -> None:
    cli("secret", "set", "mine", stdin=b"canary-v4lue")
    cli("run", "x")
    key = FileKeyProvider().path
    key.rename(key.with_name("kept"))
    key.write_text("ab" * 32)
    key.chmod(0o600)
    commands = (("run", "x"), ("secret", "list"), ("secret", "set", "mine"), ("runs", "list"))
    for argv in commands:
        ended = cli(*argv, stdin=b"other")
        assert ended.code == 2
        assert "master key" in ended.err
        assert "PLAYGROUND_KEY_FILE" in ended.err
    key.unlink()
    for argv in commands:
        ended = cli(*argv, stdin=b"other")
        assert ended.code == 2
        assert "There is no master key" in ended.err
        assert not key.exists()
    key.with_name("kept").rename(key)
    assert cli("audit", "verify", "--json").record["ok"]
    assert [row["version"] for row in cli("secret", "list", "--json").records] == [1, 1]


def test_user_without_a_home_is_told_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("PLAYGROUND_DB")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for argv in (("run", "x"), ("runs", "list"), ("audit", "verify"), ("models",)):
        ended = cli(*argv)
        assert ended.code == 2
        assert ended.err.startswith("Configuration error: The user has no home directory")


def test_refusal_of_the_operating_system_is_no_bug(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(coroutine: object) -> NoReturn:
        coroutine.close()  # type: ignore[attr-defined]
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/some/file")

    monkeypatch.setattr(asyncio, "run", refuse)
    ended = cli("runs", "list", "--json")
    assert ended.code == 1
    error = json.loads(ended.err)
    assert "Too many open files" in error["what"]
    assert error["where"] == "/some/file"


def test_interrupt_while_the_commands_load_leaves_no_traceback(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(core.cli._app, "run_command_line", interrupted)
    ended = cli("runs", "list")
    assert (ended.code, ended.out, ended.err) == (130, "", "")
