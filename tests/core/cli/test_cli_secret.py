from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.config import config_path
from core.keys import FileKeyProvider
from tests.core.cli.conftest import Cli

VALUE = b"canary-v4lue-0123456789"


def test_secret_is_set_listed_updated_and_deleted(cli: Cli) -> None:
    argv = ("secret", "set", "my-key", "--host", "API.example.com", "--host", "*.example.org")
    created = cli(*argv, "--header", "X-Key", "--json", stdin=VALUE + b"\n")
    assert created.record == {"name": "my-key", "created": True}
    [info] = cli("secret", "list", "--json").records
    assert set(info) == {
        "name", "placement", "field", "hosts", "version", "created_at", "updated_at",
        "expires_at", "description",
    }  # fmt: skip
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


def test_expiry_and_description_are_listed(cli: Cli) -> None:
    argv = ("--expires", "2030-01-31T12:00:00Z", "--description", "for the bill")
    cli("secret", "set", "later", *argv, stdin=VALUE)
    cli("secret", "set", "never", stdin=VALUE)
    cli("secret", "set", "past", "--expires", "2001-02-03", stdin=VALUE)
    later, never, past = cli("secret", "list", "--json").records
    assert (later["expires_at"], later["description"]) == (
        "2030-01-31T12:00:00.000000Z", "for the bill",
    )  # fmt: skip
    assert (never["expires_at"], never["description"]) == (None, "")
    assert past["expires_at"] == "2001-02-03T00:00:00.000000Z"
    shown = cli("secret", "list").out.splitlines()
    assert "expires 2030-01-31 12:00:00Z" in shown[0]
    assert shown[0].endswith("any host                  for the bill")
    assert "never expires" in shown[1]
    assert "EXPIRED 2001-02-03" in shown[2]
    secrets = next(r for r in cli("doctor", "--json").records if r["check"] == "secrets")
    assert (secrets["status"], secrets["detail"]) == ("warn", "1 of 3 expired: past")


def test_a_time_that_is_none_is_refused(cli: Cli) -> None:
    ended = cli("secret", "set", "key", "--expires", "soon", stdin=VALUE)
    assert ended.code == 2
    assert "--expires" in ended.err


def test_a_secret_is_rotated(cli: Cli) -> None:
    cli("secret", "set", "my-key", "--host", "a.example", "--header", "X-Key", stdin=VALUE)
    ended = cli("secret", "rotate", "my-key", "--json", stdin=b"another-value\n")
    assert ended.record == {"name": "my-key", "version": 2}
    [info] = cli("secret", "list", "--json").records
    assert (info["version"], info["hosts"], info["field"]) == (2, ["a.example"], "X-Key")
    assert cli("secret", "rotate", "my-key", stdin=VALUE).out == "my-key: rotated, version 3\n"
    actions = [row["action"] for row in cli("audit", "list", "--json").records]
    assert actions == ["secret_rotated", "secret_rotated", "secret_created"]
    for argv, stdin in ((("my-key",), b""), (("my-key",), b"a\nb"), (("none",), VALUE)):
        refused = cli("secret", "rotate", *argv, stdin=stdin)
        assert refused.code == 2
        assert VALUE.decode() not in refused.err


def test_the_master_key_is_rotated(cli: Cli) -> None:
    cli("secret", "set", "one", stdin=VALUE)
    cli("secret", "set", "two", stdin=VALUE)
    first = FileKeyProvider().master_key().key_id
    record = cli("secret", "rotate-key", "--json").record
    assert set(record) == {"key_id", "rewrapped"}
    assert record["rewrapped"] == 2
    assert record["key_id"] == FileKeyProvider().master_key().key_id != first
    assert cli("audit", "verify", "--json").record == {"ok": True, "rows": 3, "findings": []}
    assert cli("secret", "rotate", "one", stdin=VALUE).code == 0
    ended = cli("secret", "rotate-key")
    assert ended.out.endswith(": 2 secrets under it\n")
    assert "Earlier keys were kept" in ended.err
    newest = cli("audit", "list", "--json", "--limit", "1").record
    assert (newest["action"], newest["success"]) == ("master_key_rotated", True)
    assert [r["status"] for r in cli("doctor", "--json").records if r["check"] == "secrets"] == [
        "ok"
    ]


def test_a_rotation_that_was_not_finished_is_named_and_finished(cli: Cli) -> None:
    cli("secret", "set", "one", stdin=VALUE)
    first = FileKeyProvider().master_key().key_id
    second = FileKeyProvider().renew(first).key_id
    ended = cli("doctor", "--json")
    assert ended.code == 0
    [check] = [record for record in ended.records if record["check"] == "secrets"]
    assert check["status"] == "warn"
    assert (first in check["detail"], second in check["detail"]) == (True, True)
    assert "secret rotate-key" in check["hint"]
    assert cli("audit", "verify").code == 0
    record = cli("secret", "rotate-key", "--json").record
    assert record == {"key_id": second, "rewrapped": 1}


def write_config(content: str) -> None:
    path, _ = config_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_a_secret_is_set_for_the_place_that_the_configuration_names(cli: Cli) -> None:
    write_config(
        '[credentials.q]\nplacement = "query"\nfield = "token"\n'
        '[credentials.b]\nbody_fields = { pin = "pin-code" }\n'
        '[credentials.t]\nplacement = "oauth2"\noauth.token_url = "https://h/t"\n'
        'oauth.grant = "client_credentials"\noauth.client_id = "c"\n'
        'oauth.client_secret = "client"\n'
    )
    odd = "pässwörd".encode()
    for name in ("q", "pin-code", "client"):
        assert cli("secret", "set", name, stdin=odd).code == 0
    assert cli("secret", "set", "b", stdin=odd).code == 2
    assert cli("secret", "set", "q", "--header", "X-Key", stdin=odd).code == 2
    listed = {
        r["name"]: (r["placement"], r["field"]) for r in cli("secret", "list", "--json").records
    }
    assert listed == {
        "q": ("query", "token"),
        "pin-code": ("body_field", "pin"),
        "client": ("body_field", "client_secret"),
    }


def test_the_key_may_come_from_the_environment(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config('[keys]\nprovider = "environment"\n')
    ended = cli("secret", "set", "key", stdin=VALUE)
    assert ended.code == 2
    assert "PLAYGROUND_MASTER_KEY" in ended.err
    checks = {r["check"]: r["status"] for r in cli("doctor", "--json").records}
    assert checks["key"] == "fail"
    monkeypatch.setenv("PLAYGROUND_MASTER_KEY", "11" * 32)
    assert cli("secret", "set", "key", stdin=VALUE).code == 0
    assert cli("audit", "verify").code == 0
    refused = cli("secret", "rotate-key")
    assert refused.code == 2
    assert "11" * 32 not in refused.err
    monkeypatch.setenv("PLAYGROUND_MASTER_KEY", f"{'22' * 32} {'11' * 32}")
    assert cli("secret", "rotate-key", "--json").record["rewrapped"] == 1
    monkeypatch.setenv("PLAYGROUND_MASTER_KEY", "22" * 32)
    assert cli("audit", "verify").code == 0
    assert cli("secret", "rotate", "key", stdin=VALUE).code == 0
    shown = json.dumps(cli("doctor", "--json").records)
    assert "PLAYGROUND_MASTER_KEY: key " in shown
    assert "22" * 32 not in shown
    assert list(home.rglob("*.key")) == []


def test_a_keyring_that_is_not_there_is_named(cli: Cli) -> None:
    write_config('[keys]\nprovider = "keyring"\n')
    ended = cli("secret", "set", "key", stdin=VALUE)
    assert ended.code == 2
    assert "'keyring' is not installed" in ended.err
