"""Foreign text made harmless: the only way it reaches a screen or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy
from core.text._clip import Clipped, clip
from core.text._decode import decode
from core.text._display import display, line
from core.text._storable import storable, well_formed

if TYPE_CHECKING:
    from core.text._known import MASK, KnownSecrets, MaskedStream
    from core.text._log import MaskedHandler
    from core.text._redact import redact

__all__ = [
    "MASK",
    "Clipped",
    "KnownSecrets",
    "MaskedHandler",
    "MaskedStream",
    "clip",
    "decode",
    "display",
    "line",
    "redact",
    "storable",
    "well_formed",
]

__getattr__ = lazy(
    __name__,
    {
        "MASK": "core.text._known",
        "KnownSecrets": "core.text._known",
        "MaskedHandler": "core.text._log",
        "MaskedStream": "core.text._known",
        "redact": "core.text._redact",
    },
)
