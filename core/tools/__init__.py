"""Tools: functions a model may call, and the gate before them.

``builtin_tools`` loads on first use: it brings pydantic and the HTTP client along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.tools.base import Tool, ToolContext, ToolError, ToolSet
from core.tools.function import FunctionTool, tool

if TYPE_CHECKING:
    from core.tools.builtin import builtin_tools

__all__ = [
    "FunctionTool",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolSet",
    "builtin_tools",
    "tool",
]


def __getattr__(name: str) -> object:
    if name != "builtin_tools":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from core.tools.builtin import builtin_tools

    globals()[name] = builtin_tools
    return builtin_tools
