"""The master key, where it comes from, and the keys derived from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.keys._master import KeyProvider, MasterKey

if TYPE_CHECKING:
    from core.keys._derive import derive
    from core.keys._file import FileKeyProvider

__all__ = ["FileKeyProvider", "KeyProvider", "MasterKey", "derive"]

_HOMES = {"FileKeyProvider": "core.keys._file", "derive": "core.keys._derive"}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
