"""Where the shared cases lie, for the tests that read them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent


def cases(name: str) -> Path:
    """Return the path of a shared case file or folder; skip the test where there is none."""
    path = Path(os.environ.get("STEPBRAKE_CASES", _ROOT.parent / "shared" / "cases")) / name
    if not path.exists():
        pytest.skip(f"no shared cases at {path}")
    return path
