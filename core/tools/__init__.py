"""Tools: functions a model may call, and the gate before them.

``builtin_tools`` loads on first use: it brings pydantic and the HTTP client along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy
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

__getattr__ = lazy(__name__, {"builtin_tools": "core.tools.builtin"})
