"""stepbrake's core: run LLM agents that can really be stopped, and account for their calls.

Importing this is cheap; each name loads what it needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy

if TYPE_CHECKING:
    from core.cli import global_options, main
    from core.clock import Clock, SystemClock
    from core.config import database_path
    from core.model import CancelLevel, CancelReceipt, RunRequest, RunResult
    from core.runtime import Run, Runtime, open_runtime
    from core.store.protocol import AuditQuery
    from core.tools import ToolContext, ToolError, tool

_HOMES = {
    "AuditQuery": "core.store.protocol",
    "CancelLevel": "core.model",
    "CancelReceipt": "core.model",
    "Clock": "core.clock",
    "Run": "core.runtime",
    "RunRequest": "core.model",
    "RunResult": "core.model",
    "Runtime": "core.runtime",
    "SystemClock": "core.clock",
    "ToolContext": "core.tools",
    "ToolError": "core.tools",
    "database_path": "core.config",
    "global_options": "core.cli",
    "main": "core.cli",
    "open_runtime": "core.runtime",
    "tool": "core.tools",
}

__all__ = [
    "AuditQuery",
    "CancelLevel",
    "CancelReceipt",
    "Clock",
    "Run",
    "RunRequest",
    "RunResult",
    "Runtime",
    "SystemClock",
    "ToolContext",
    "ToolError",
    "database_path",
    "global_options",
    "main",
    "open_runtime",
    "tool",
]

__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
