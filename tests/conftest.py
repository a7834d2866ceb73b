"""What every test gets: a scrubbed environment, UTC, and the ``--soak`` option."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from core.demo import DemoServer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--soak``: races and kill loops run whole instead of short."""
    parser.addoption("--soak", action="store_true", help="run races and kill loops whole")


def pytest_configure(config: pytest.Config) -> None:
    # Before textual is imported: it reads these once, at import.
    for name in list(os.environ):
        # The snapshot plugin keeps its own place in the environment.
        mine = name.startswith(("TEXTUAL", "PLAYGROUND_")) and "SNAPSHOT" not in name
        if name == "NO_COLOR" or mine:
            del os.environ[name]
    os.environ["TZ"] = "UTC"
    time.tzset()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where everything is installed, a skipped test is one that nobody would miss failing."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if "CI" in os.environ and terminal is not None and terminal.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def soak(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--soak"))


@pytest.fixture(autouse=True)
def home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Give each test a home of its own, so that no test touches a person's files."""
    path = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    yield path


@pytest.fixture
async def demo() -> AsyncIterator[DemoServer]:
    """Give a demo server without waits."""
    from core.demo import DemoServer

    server = DemoServer(pace=0)
    await server.start()
    yield server
    await server.close()
