"""The master key, where it comes from, and the keys derived from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy
from core.keys._master import KeyProvider, MasterKey

if TYPE_CHECKING:
    from core.keys._derive import derive
    from core.keys._file import FileKeyProvider

__all__ = ["FileKeyProvider", "KeyProvider", "MasterKey", "derive"]

_HOMES = {"FileKeyProvider": "core.keys._file", "derive": "core.keys._derive"}

__getattr__ = lazy(__name__, _HOMES)
