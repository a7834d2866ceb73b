from __future__ import annotations

import pwd
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from core.config import config_path, database_path, load_config
from core.errors import ConfigError
from core.keys import FileKeyProvider


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.usefixtures("no_home")
@pytest.mark.parametrize(
    ("ask", "variable"),
    [
        (database_path, "PLAYGROUND_DB"),
        (config_path, "PLAYGROUND_CONFIG"),
        (load_config, "PLAYGROUND_CONFIG"),
        (FileKeyProvider, "PLAYGROUND_KEY_FILE"),
    ],
)
def test_a_user_without_a_home_is_told_how_to_name_the_file(
    ask: Callable[[], object], variable: str
) -> None:
    with pytest.raises(ConfigError, match="no home directory") as caught:
        ask()
    assert caught.value.where == "HOME"
    assert variable in caught.value.hint


@pytest.mark.usefixtures("no_home")
def test_a_user_without_a_home_can_name_every_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("PLAYGROUND_DB", "PLAYGROUND_CONFIG", "PLAYGROUND_KEY_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    assert database_path() == str(tmp_path / "PLAYGROUND_DB")
    assert config_path() == (tmp_path / "PLAYGROUND_CONFIG", True)
    assert FileKeyProvider().path == tmp_path / "PLAYGROUND_KEY_FILE"
