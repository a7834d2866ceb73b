from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import core


@dataclass(frozen=True)
class Ended:
    """What a command line left behind."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """Stdout as JSON lines; anything else on it is an error."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def record(self) -> dict[str, Any]:
        """The only JSON line."""
        assert len(self.records) == 1, self.out
        return self.records[0]


Cli = Callable[..., Ended]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "store" / "runs.db"
    monkeypatch.setenv("PLAYGROUND_DB", str(path))
    monkeypatch.setenv("PLAYGROUND_DEMO_PACE", "0")
    return path


@pytest.fixture
def cli(database: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Give a function that runs a command line in this process."""

    def call(*argv: str, stdin: bytes | None = None) -> Ended:
        capfd.readouterr()
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = core.main(list(argv))
        out, err = capfd.readouterr()
        return Ended(code, out, err)

    return call
