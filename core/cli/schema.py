"""``schema``: the JSON schema of every event a run can have."""

from __future__ import annotations

import typer

from core.cli._session import session
from core.errors import EXIT_DONE


def register(root: typer.Typer) -> None:
    """Add the command."""
    root.command("schema")(_schema)


def _schema(context: typer.Context) -> int:
    """Print the JSON schema of all events."""
    import json

    from core.cli._event_schema import event_schema

    out = session(context).out
    schema = event_schema()
    if out.as_json:
        out.record(schema)
    else:
        out.line(json.dumps(schema, indent=2))
    return EXIT_DONE
