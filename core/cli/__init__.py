"""The command line: one module per command group.

Importing it is cheap; the parser and the commands load when ``main`` is called.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.cli._globals import hoist as global_options
from core.errors import EXIT_INTERRUPTED

__all__ = ["global_options", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Args:
        argv: the arguments without the program's name; None: the process's own.

    Returns:
        0 done, 1 failed, 2 usage or configuration, 3 silent past its bound, 4 cancelled,
        5 audit broken, 6 waiting for a person, 75 try again later, 130 interrupted.
    """
    import sys

    try:
        from core.cli._app import run_command_line

        return run_command_line(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        # Whoever interrupts the loading of the commands wants no traceback either.
        return EXIT_INTERRUPTED
