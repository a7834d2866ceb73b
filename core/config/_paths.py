"""Where the files of a person lie."""

from __future__ import annotations

import os
from pathlib import Path

from core.errors import ConfigError

_FOLDER = "stepbrake"


def default_database() -> Path:
    """Return the database's place in the platform's data directory.

    Raises:
        ConfigError: the user has no home directory.
    """
    from platformdirs import user_data_path

    try:
        return user_data_path(_FOLDER) / "playground.db"
    except RuntimeError:
        raise _homeless("--db or PLAYGROUND_DB") from None


def database_path(explicit: str | None = None) -> str:
    """Return the store to use: ``explicit``, else ``PLAYGROUND_DB``, else the default.

    Raises:
        ConfigError: nobody named one and the user has no home directory.
    """
    return explicit or os.environ.get("PLAYGROUND_DB") or str(default_database())


def config_path(explicit: str | Path | None = None) -> tuple[Path, bool]:
    """Return the configuration file to use and whether somebody named it.

    The order is ``explicit``, ``PLAYGROUND_CONFIG``, the platform's configuration directory.

    Raises:
        ConfigError: nobody named one and the user has no home directory.
    """
    named = explicit or os.environ.get("PLAYGROUND_CONFIG")
    if named:
        return Path(named), True
    return config_folder("--config or PLAYGROUND_CONFIG") / "config.toml", False


def config_folder(instead: str) -> Path:
    """Return our folder in the platform's configuration directory.

    Args:
        instead: what names the file that is looked for, for the error's hint.

    Raises:
        ConfigError: the user has no home directory.
    """
    from platformdirs import user_config_path

    try:
        return user_config_path(_FOLDER, appauthor=False)
    except RuntimeError:
        raise _homeless(instead) from None


def _homeless(instead: str) -> ConfigError:
    return ConfigError(
        "The user has no home directory",
        where="HOME",
        hint=f"Set HOME, or name the file with {instead}.",
    )
