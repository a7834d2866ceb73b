"""The demo server: a scripted model and a small API behind real HTTP on loopback.

No key, no network. It speaks the OpenAI chat format, so the same code path that reaches a
real server reaches it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.demo.scenes import SCENES
    from core.demo.server import DemoServer, pace_from_environment

__all__ = ["SCENES", "DemoServer", "pace_from_environment"]


def __getattr__(name: str) -> Any:
    """Load a public name on first use: the server's machinery is not needed to import it."""
    if name == "SCENES":
        from core.demo.scenes import SCENES

        return SCENES
    if name in {"DemoServer", "pace_from_environment"}:
        from core.demo import server

        return getattr(server, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
