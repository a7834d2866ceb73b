"""Where the files of a person lie."""

from __future__ import annotations

import os
from pathlib import Path

_FOLDER = "stepbrake"


def default_database() -> Path:
    """Return the database's place in the platform's data directory."""
    from platformdirs import user_data_path

    return user_data_path(_FOLDER) / "playground.db"


def database_path(explicit: str | None = None) -> str:
    """Return the store to use: ``explicit``, else ``PLAYGROUND_DB``, else the default."""
    return explicit or os.environ.get("PLAYGROUND_DB") or str(default_database())


def config_path(explicit: str | Path | None = None) -> tuple[Path, bool]:
    """Return the configuration file to use and whether somebody named it.

    The order is ``explicit``, ``PLAYGROUND_CONFIG``, the platform's configuration directory.
    """
    named = explicit or os.environ.get("PLAYGROUND_CONFIG")
    if named:
        return Path(named), True
    from platformdirs import user_config_path

    return user_config_path(_FOLDER) / "config.toml", False
