"""Databases that earlier versions made, each with the key file it was made with.

``schema-1`` holds a completed and a cancelled run of the demo, their calls, and three secrets,
one of them in its second version.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from core.audit import sealer
from core.keys import FileKeyProvider
from core.store import Seal

_DATA = Path(__file__).parents[2] / "data"
COMPLETED = "01a22f11-63f0-7efc-9a6e-612729a5911b"
CANCELLED = "01a22f11-6e36-7cf0-b8ae-89899c4c2f4b"


def schema_1(folder: Path) -> Path:
    """Copy the database of schema 1, and its key, into ``folder``."""
    path = folder / "schema-1.db"
    shutil.copyfile(_DATA / "schema-1.db", path)
    os.close(os.open(key_file(path), os.O_WRONLY | os.O_CREAT, 0o600))
    shutil.copyfile(_DATA / "schema-1.key", key_file(path))
    return path


def key_file(path: Path) -> Path:
    """Return the key file of a copy."""
    return path.with_suffix(".key")


def seal_of(path: Path, database_id: str, sealed_by: str | None) -> Seal:
    """The seal of a copy's key."""
    return sealer(FileKeyProvider(key_file(path)))(database_id, sealed_by)
