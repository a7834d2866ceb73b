"""The way in: the app on a terminal, a command line with arguments, else how to go headless."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from playground.leaving import Leaving
from playground.terminal import Terminal

if TYPE_CHECKING:
    from core import Runtime
    from core.errors import StepbrakeError

_HEADLESS = """\
The app needs a terminal. Without one:
  playground run "PROMPT"            run a prompt, stream the answer
  playground run "PROMPT" --json     the same as one JSON object a line
  playground runs list               see what ran
  playground --help                  every command"""


def main(argv: Sequence[str] | None = None) -> int:
    """Open the app, or run a command line.

    Args:
        argv: the arguments without the program's name; None: the process's own.

    Returns:
        The exit code: the command line's; of the app 0, 128 plus the signal that ended it,
        1 after a crash, 2 without a terminal or with a store that cannot be opened.
    """
    import core
    from core.errors import EXIT_USAGE, StepbrakeError, UsageError

    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options, rest = core.global_options(arguments)
    except UsageError:
        return core.main(arguments)  # it says what is wrong, the way the person wants it
    if rest or options.json:
        return core.main(arguments)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        _say(_HEADLESS)
        return EXIT_USAGE
    with Terminal():
        try:
            return asyncio.run(_open(core.database_path(options.db), options.config))
        except StepbrakeError as error:
            _explain(error)
            return error.exit_code


async def _open(database: str, config: str | None) -> int:
    """Run the app inside the runtime's block: runs outlive the screen, and drain after it."""
    from core.text import KnownSecrets, MaskedHandler
    from playground.opening import OpeningApp

    known = KnownSecrets()
    async with Leaving() as leaving, AsyncExitStack() as stack:
        stack.enter_context(MaskedHandler(known, _say))

        async def opener() -> Runtime:
            import core

            runtime = core.open_runtime(database, config=config, known=known)
            return await stack.enter_async_context(runtime)

        app = OpeningApp(opener)
        await leaving.show(app)
        if app.failure is not None:
            raise app.failure
        if app.live:
            _say("Stopping what is live; what was done is kept.")
    return leaving.code or app.return_code or 0


def _say(text: str) -> None:
    with suppress(OSError):  # the terminal may be gone; there is nobody else to tell
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _explain(error: StepbrakeError) -> None:
    from core.text import display

    lines = [f"{error.title}: {error.what}", *filter(None, (error.where, error.hint))]
    _say(display("\n  ".join(lines)))


if __name__ == "__main__":
    sys.exit(main())
