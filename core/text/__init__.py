"""Foreign text made harmless: the only way it reaches a screen or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy
from core.text._clip import Clipped, clip
from core.text._decode import decode
from core.text._display import display, line
from core.text._storable import storable, well_formed

if TYPE_CHECKING:
    from core.text._redact import redact

__all__ = ["Clipped", "clip", "decode", "display", "line", "redact", "storable", "well_formed"]

__getattr__ = lazy(__name__, {"redact": "core.text._redact"})
