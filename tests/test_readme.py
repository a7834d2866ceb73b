from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.store import AuditQuery

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_first_screen_has_exactly_the_two_commands() -> None:
    (commands,) = blocks("sh")
    start = "python3 -m venv .venv && .venv/bin/pip install -q uv && .venv/bin/uv run "
    assert commands.splitlines() == [f"{start}playground", f"{start}--group dev pytest"]
    assert README.index(commands) < 1_000


def test_every_picture_is_there() -> None:
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 3
    assert all((ROOT / picture).is_file() for picture in pictures)


def test_the_embedding_example_runs_as_it_stands(tmp_path: Path) -> None:
    code = blocks("python")[0]
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-P", "example.py"],
        cwd=tmp_path,
        env={**os.environ, "PLAYGROUND_DEMO_PACE": "0"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert re.search(r"^completed \d+\ncompleted Tomorrow Lisbon", run.stdout, re.MULTILINE)
    assert run.stderr == ""


async def test_the_sdk_example_sends_through_the_audited_client(tmp_path: Path) -> None:
    import httpx
    import openai

    import core

    code = blocks("python")[1]
    async with core.open_runtime(tmp_path / "x.db") as rt:
        await rt.secrets.set("openai", "sk-example-1234", hosts=("api.openai.com",), actor="me")
        names: dict[str, Any] = {"core": core, "httpx": httpx, "openai": openai, "rt": rt}
        exec(code, names)
        sdk = names["sdk"].with_options(base_url="https://127.0.0.1:9/v1", max_retries=0)
        with pytest.raises(openai.APIConnectionError):
            await sdk.models.list()
        row = (await rt.audit.page(AuditQuery()))[0]
        await sdk.close()
    # It is bound to another host: refused before the secret was read, and on record.
    assert (row.action.value, row.success, row.credential) == ("http_call", False, "openai")


def test_the_commands_run_as_they_stand(tmp_path: Path) -> None:
    lines = [line for block in blocks("console") for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    config = "\n".join(blocks("toml"))
    (tmp_path / "config.toml").write_text(config, encoding="utf-8")
    (tmp_path / "key.txt").write_text("sk-example-1234\n", encoding="utf-8")
    bin_folder = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PLAYGROUND_CONFIG": str(tmp_path / "config.toml"),
        "PLAYGROUND_DEMO_PACE": "0",
        "PYTHONSAFEPATH": "1",
    }
    assert len(commands) == 6
    for command in commands:
        leaves_the_machine = command.endswith("--model gpt")
        done = subprocess.run(
            ["bash", "-c", command + " --dry-run" * leaves_the_machine],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
