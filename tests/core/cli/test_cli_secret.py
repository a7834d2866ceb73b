from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.cli.conftest import Cli

VALUE = b"canary-v4lue-0123456789"


def test_secret_is_set_listed_updated_and_deleted(cli: Cli) -> None:
    argv = ("secret", "set", "my-key", "--host", "API.example.com", "--host", "*.example.org")
    created = cli(*argv, "--header", "X-Key", "--json", stdin=VALUE + b"\n")
    assert created.record == {"name": "my-key", "created": True}
    [info] = cli("secret", "list", "--json").records
    assert info["name"] == "my-key"
    assert (info["placement"], info["field"]) == ("header", "X-Key")
    assert info["hosts"] == ["api.example.com", "*.example.org"]
    assert info["version"] == 1
    assert cli("secret", "set", "my-key", stdin=VALUE).out == "my-key: updated\n"
    assert "bearer in Authorization" in cli("secret", "list").out
    assert cli("secret", "delete", "my-key", "--json").record == {"name": "my-key", "deleted": True}
    actions = [row["action"] for row in cli("audit", "list", "--json").records]
    assert actions == ["secret_deleted", "secret_updated", "secret_created"]
    gone = cli("secret", "delete", "my-key")
    assert gone.code == 2
    assert "no such secret" in gone.err


def test_value_is_nowhere_but_encrypted(cli: Cli, database: Path) -> None:
    cli("secret", "set", "my-key", stdin=VALUE)
    shown = [cli("secret", "list"), cli("secret", "list", "--json"), cli("audit", "list", "--json")]
    assert not [ended for ended in shown if VALUE.decode() in ended.out + ended.err]
    for path in database.parent.rglob("*"):
        assert path.is_dir() or VALUE not in path.read_bytes()


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (b"", "empty"),
        (b"\n", "empty"),
        (b"two\nlines", "value"),
        (b"nul\0byte", "NUL"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_value_that_no_header_can_carry_is_refused(cli: Cli, value: bytes, part: str) -> None:
    ended = cli("secret", "set", "my-key", stdin=value)
    assert ended.code == 2
    assert part in ended.err
    assert cli("secret", "list", "--json").out == ""


@pytest.mark.parametrize(
    "argv",
    [
        ("Bad Name",),
        ("ok", "--host", "https://h/"),
        ("ok", "--header", "a b"),
    ],
)
def test_names_hosts_and_headers_are_checked(cli: Cli, argv: tuple[str, ...]) -> None:
    ended = cli("secret", "set", *argv, stdin=VALUE)
    assert ended.code == 2
    assert VALUE.decode() not in ended.err
