"""From an argument list to an exit code."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout, suppress

import typer
from typer.exceptions import TyperException

from core.cli import audit, demo_server, doctor, listings, run, runs, schema, secret
from core.cli._globals import hoist
from core.cli._output import Output
from core.cli._session import Session, session
from core.cli._stdin import checked
from core.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    StepbrakeError,
    UsageError,
)
from core.text import KnownSecrets, MaskedHandler

_PROGRAM = "playground"
_EVERYWHERE = (
    "Options that stand anywhere: --db PATH (the store, else PLAYGROUND_DB), "
    "--config FILE (else PLAYGROUND_CONFIG), --json (one JSON object a line on stdout)."
)


def run_command_line(argv: list[str]) -> int:
    """Run one command; whatever goes wrong becomes a message and an exit code."""
    try:
        for number, argument in enumerate(argv, 1):
            checked(argument, f"Argument {number}")
        options, rest = hoist(argv)
    except UsageError as error:
        out = Output(as_json="--json" in argv)
        _report(out, error)
        out.close()
        return error.exit_code
    known = KnownSecrets()
    out = Output(as_json=options.json, mask=known.mask)
    try:
        with MaskedHandler(known, out.note):
            code = _guarded(rest, Session(options, out, known))
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    # Whoever interrupts this gives up the rest of the output, not how the command ended.
    with suppress(KeyboardInterrupt):
        out.close()
    if out.failure is not None:
        # The data did not arrive; the exit code has to say so.
        return code or EXIT_FAILED
    return code


def _guarded(argv: list[str], current: Session) -> int:
    out = current.out
    try:
        return _invoke(argv, current)
    except StepbrakeError as error:
        _report(out, error)
        return error.exit_code
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else _PROGRAM
        hint = f"See `{command} --help`."
        _report(
            out, UsageError(error.format_message().removesuffix(".") or "Name a command", hint=hint)
        )
        return EXIT_USAGE
    except OSError as error:
        _report(out, _system_error(error))
        return EXIT_FAILED
    except Exception as error:
        _report_unexpected(out, error)
        return EXIT_FAILED


def _invoke(argv: list[str], current: Session) -> int:
    command = typer.main.get_command(_build())
    # The parser prints help by itself.
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            code = command.main(argv, prog_name=_PROGRAM, standalone_mode=False, obj=current)
    finally:
        current.out.piece(printed.getvalue())
    return code if isinstance(code, int) else EXIT_DONE


def _build() -> typer.Typer:
    root = typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        epilog=_EVERYWHERE,
    )
    root.callback(invoke_without_command=True)(_root)
    for module in (run, listings, doctor, demo_server, schema):
        module.register(root)
    for group in (runs, audit, secret):
        root.add_typer(group.app)
    return root


def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Run LLM agents that you can really stop, and account for their calls."""
    if version:
        _version(session(context))
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise UsageError("Name a command", hint=f"See `{_PROGRAM} --help`.")


def _version(current: Session) -> None:
    from importlib.metadata import version

    number = version("stepbrake")
    if current.out.as_json:
        current.out.record({"version": number})
    else:
        current.out.line(f"stepbrake {number}")


def _report(out: Output, error: StepbrakeError) -> None:
    if out.as_json:
        out.error(
            {
                "error": error.title,
                "what": error.what,
                "where": error.where,
                "hint": error.hint,
                "exit_code": error.exit_code,
            }
        )
        return
    out.note(f"{error.title}: {error.what}")
    for line in (error.where, error.hint):
        if line:
            out.note(f"  {line}")


def _system_error(error: OSError) -> StepbrakeError:
    return StepbrakeError(
        f"The operating system refused: {error.strerror or type(error).__name__}",
        where=str(error.filename or ""),
        hint="`playground doctor` checks this machine.",
    )


def _report_unexpected(out: Output, error: Exception) -> None:
    """Say what happened without what the program was working on: that may be secret."""
    from core.text import redact

    if os.environ.get("PLAYGROUND_DEBUG") == "1":
        import traceback

        out.note(redact(out.mask("".join(traceback.format_exception(error)))))
    first_line = next(iter(str(error).splitlines()), "")
    _report(
        out,
        StepbrakeError(
            f"{type(error).__name__}: {redact(out.mask(first_line))[:200]}".rstrip(": "),
            hint="This is a bug. PLAYGROUND_DEBUG=1 shows where it happened.",
        ),
    )
