"""The demo server: a scripted model and a small API behind real HTTP on loopback.

No key, no network. It speaks the OpenAI chat format, so the same code path that reaches a
real server reaches it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy

if TYPE_CHECKING:
    from core.demo._pace import pace_from_environment
    from core.demo._shared import url_from_environment
    from core.demo.scenes import SCENES
    from core.demo.server import DemoServer

__all__ = ["SCENES", "DemoServer", "pace_from_environment", "url_from_environment"]

_HOMES = {
    "DemoServer": "core.demo.server",
    "SCENES": "core.demo.scenes",
    "pace_from_environment": "core.demo._pace",
    "url_from_environment": "core.demo._shared",
}

__getattr__ = lazy(__name__, _HOMES)
