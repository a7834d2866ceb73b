"""Foreign text made harmless: the only way it reaches a screen or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.text._clip import Clipped, clip
from core.text._decode import decode
from core.text._display import display, line

if TYPE_CHECKING:
    from core.text._redact import redact

__all__ = ["Clipped", "clip", "decode", "display", "line", "redact"]


def __getattr__(name: str) -> Any:
    """Load ``redact``, and with it the catalogue of shapes, on first use."""
    if name != "redact":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from core.text._redact import redact

    return redact
