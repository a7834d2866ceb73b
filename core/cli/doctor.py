"""``doctor``: is everything here that a run needs?"""

from __future__ import annotations

import typer

from core.cli._session import session
from core.errors import EXIT_DONE, EXIT_FAILED


def register(root: typer.Typer) -> None:
    """Add the command."""
    root.command("doctor")(_doctor)


def _doctor(context: typer.Context) -> int:
    """Check this machine, the configuration and the database. Exit code 1: something fails."""
    from core.cli._checks import FAIL, run_checks
    from core.cli._table import columns

    current = session(context)
    failed = False
    for check in run_checks(current):
        failed = failed or check.status == FAIL
        if current.out.as_json:
            current.out.record(
                {
                    "check": check.check,
                    "status": check.status,
                    "detail": check.detail,
                    "hint": check.hint,
                }
            )
        else:
            current.out.line(columns([check.status, check.check, check.detail], (4, 10)))
            if check.hint:
                current.out.line(f"{'':18}{check.hint}")
    return EXIT_FAILED if failed else EXIT_DONE
