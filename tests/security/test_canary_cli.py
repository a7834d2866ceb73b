from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cli_process import PATIENCE_S, environment
from tests.security.canary import CANARIES, SHAPED, SHAPELESS, shows, shows_below
from tests.security.echo_server import EchoServer, echo_server

MODELS = ("echo", "whole", "words", "refused", "reported", "broken")


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


class Home:
    """Runs commands in a home of their own, and keeps all that they said."""

    def __init__(self, folder: Path, server: EchoServer) -> None:
        self.folder = folder
        (folder / "config.toml").write_text(
            "".join(
                f'[models.{name}]\nprovider = "openai-chat"\nbase_url = "{server.url}/v1"\n'
                f'model = "{name}"\ncredential = "canary"\n'
                for name in MODELS
            )
        )
        self.said: list[str] = []

    def run(self, *argv: str, stdin: str = "", program: tuple[str, ...] = ("-m", "core")) -> int:
        ended = subprocess.run(
            [sys.executable, *program, "--config", "config.toml", *argv],
            cwd=self.folder,
            env=environment(self.folder, PLAYGROUND_DEBUG="1"),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        self.said += [ended.stdout, ended.stderr]
        return ended.returncode

    def clean(self) -> None:
        for said in self.said:
            assert shows(said) is None, said
        assert shows_below(self.folder) == {}


@pytest.mark.parametrize("value", CANARIES, ids=["shapeless", "shaped"])
def test_no_command_shows_it(tmp_path: Path, server: EchoServer, value: str) -> None:
    home = Home(tmp_path, server)
    assert home.run("secret", "set", "canary", "--host", server.host, stdin=value) == 0
    home.run("run", "say it", "--model", "echo", "--tool", "http_get", "--json")
    assert value in server.keys
    assert any("[redacted]" in said for said in home.said)
    for model in ("refused",) if value == SHAPED else ("whole", "words"):
        home.run("run", "say it", "--model", model)
    assert [shows(body) for body in server.bodies] == [None] * len(server.bodies)
    assert home.run("secret", "rotate", "canary", stdin=value[::-1]) == 0
    assert home.run("secret", "set", "canary", "--host", "x\n", stdin=value) == 2
    assert home.run("secret", "set", "canary", stdin=f"{value}\0") == 2
    assert home.run("audit", "list", "--json") == 0
    home.clean()


# A program that fails where nobody foresaw it, with the secret in every part of the fault.
_FAILS = """
import logging, sys
import core.cli.secret as commands

async def _store(current, name, value, **_):
    async with current.runtime() as runtime:
        await runtime.secrets.set(name, value, actor="test")
    log = logging.getLogger("somebody")
    log.warning("said %s", value)
    try:
        raise ValueError(value)
    except ValueError as cause:
        log.exception("caught")
        current.out.note(f"note {value}")
        error = OSError(5, value, value) if name == "os" else RuntimeError(f"token={value}")
        raise error from cause

commands._store = _store
import core
sys.exit(core.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("name", ["os", "bug"])
def test_faults_that_nobody_foresaw_do_not_tell_it(
    tmp_path: Path, server: EchoServer, name: str, more: tuple[str, ...]
) -> None:
    home = Home(tmp_path, server)
    (tmp_path / "fails.py").write_text(_FAILS)
    for value in (SHAPELESS, SHAPED):
        code = home.run("secret", "set", name, *more, stdin=value, program=("fails.py",))
        assert code == 1
    said = "".join(home.said)
    assert "said [redacted]" in said
    assert "caught\nTraceback" in said
    assert "note [redacted]" in said
    assert os.strerror(5) not in said
    home.clean()
