"""``models`` and ``tools``: what a run can be made of."""

from __future__ import annotations

import typer

from core.cli._session import session
from core.errors import EXIT_DONE


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.command("models")(_models)
    root.command("tools")(_tools)


def _models(context: typer.Context) -> int:
    """List the models a run can use."""
    from core.cli._table import columns
    from core.config import load_config
    from core.runtime import list_models

    current = session(context)
    for model in list_models(load_config(current.options.config)):
        if current.out.as_json:
            current.out.record(
                {
                    "name": model.name,
                    "provider": model.provider,
                    "model": model.model,
                    "base_url": model.base_url,
                    "credential": model.credential,
                    "description": model.description,
                }
            )
        else:
            about = model.description or model.base_url or ""
            current.out.line(columns([model.name, model.provider, about], (20, 12)))
    return EXIT_DONE


def _tools(context: typer.Context) -> int:
    """List the built-in tools."""
    from core.cli._table import columns
    from core.tools import builtin_tools

    current = session(context)
    for tool in builtin_tools():
        if current.out.as_json:
            current.out.record(
                {
                    "name": tool.name,
                    "effect": tool.effect.value,
                    "description": tool.description,
                    "deadline_seconds": tool.deadline_s,
                    "parameters": dict(tool.parameters),
                }
            )
        else:
            summary = tool.description.partition("\n")[0]
            current.out.line(columns([tool.name, tool.effect.value, summary], (16, 10)))
    return EXIT_DONE
