"""What needs HTTP from below its layer, and what lends our HTTP to others.

Names load on first use: none of the libraries behind them is a dependency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy

if TYPE_CHECKING:
    from core.adapters._httpx import httpx_transport

_HOMES = {"httpx_transport": "core.adapters._httpx"}

__all__ = ["httpx_transport"]

__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
