"""The two libraries of the httpx family."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest


@pytest.fixture(params=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Any:
    return import_module(request.param)
