"""``run``: start a run, show it, stop it when asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from core.cli._session import Session, session
from core.errors import EXIT_CANCELLED, StepbrakeError
from core.model import CancelLevel, RunRequest, RunResult

if TYPE_CHECKING:
    from core.runtime import Run

_UNRECORDED_PATIENCE_S = 0.5


def register(root: typer.Typer) -> None:
    """Add the command."""
    root.command("run")(_run)


def _run(
    context: typer.Context,
    *,
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", help="What to do; - reads it from standard input.")
    ],
    model: Annotated[str, typer.Option(metavar="NAME", help="A model entry.")] = "demo",
    tool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Offer this tool; repeat for more. Default: all pure."),
    ] = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="System prompt.")] = None,
    max_rounds: Annotated[int, typer.Option(metavar="N", min=1, help="Most rounds.")] = 10,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Bound of one response.")
    ] = None,
    max_total_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Bound of the whole run.")
    ] = None,
    max_tool_calls: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Bound of the whole run.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(metavar="T", min=0, max=2, help="0 to 2.")
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="RUN", help="Continue this run's transcript.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the prompt as assembled; send nothing.")
    ] = False,
) -> int:
    """Run an agent. The answer goes to stdout, its steps to stderr.

    Ctrl+C stops after the step in flight; a second one aborts that step.
    """
    from core.cli._stdin import read_stdin

    request = RunRequest(
        prompt=read_stdin("The prompt") if prompt == "-" else prompt,
        model=model,
        tools=tuple(tool) if tool else None,
        system=system,
        max_rounds=max_rounds,
        max_tokens=max_tokens,
        max_total_tokens=max_total_tokens,
        max_tool_calls=max_tool_calls,
        temperature=temperature,
        after=after,
        dry_run=dry_run,
    )
    return asyncio.run(_drive(session(context), request))


async def _drive(current: Session, request: RunRequest) -> int:
    from core.cli._follow import exit_code
    from core.cli._signals import signals

    brake = _Brake(current)
    with signals(brake.press):
        async with current.runtime() as runtime:
            if brake.presses:
                current.out.note("Cancelled before it started.")
                return EXIT_CANCELLED
            run = await runtime.start(request)
            brake.take(run)
            result = await _show(run, brake, current, dry_run=request.dry_run)
            await brake.settle()
    if not result.recorded:
        current.out.note("The store did not take the end of this run; what is shown is all.")
    return exit_code(result.outcome, result.termination_reason, result.error)


async def _show(run: Run, brake: _Brake, current: Session, *, dry_run: bool) -> RunResult:
    from core.cli._follow import follow

    async def watch() -> None:
        # Whatever becomes of the picture, the run goes on to its own end.
        try:
            async with run.events(after=-1) as events:
                await follow(events, current.out, dry_run=dry_run)
        except StepbrakeError as error:
            current.out.note(f"The run cannot be shown further: {error.what}")

    watching = asyncio.create_task(watch())
    result = await run.wait()
    brake.over()
    leaving = asyncio.create_task(brake.let_go.wait())
    # An end that the store did not take never comes to whoever follows.
    patience = None if result.recorded else _UNRECORDED_PATIENCE_S
    await asyncio.wait({watching, leaving}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    watching.cancel()
    ended = await asyncio.gather(watching, leaving, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error
    return result


class _Brake:
    """What signals do: the first stops at the boundary, the second aborts, the third leaves.

    Leaving gives up output that its reader does not take.
    """

    def __init__(self, current: Session) -> None:
        self._out = current.out
        self._run: Run | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._over = False
        self.presses = 0
        self.let_go = asyncio.Event()

    def press(self, name: str) -> None:
        """Take a signal."""
        self.presses += 1
        if self.presses > 2 or self._over:
            self._out.abandon()
            self.let_go.set()
        elif self._run is not None:
            self._ask(self._run, name)

    def take(self, run: Run) -> None:
        """Have a run to stop; signals that came before count."""
        self._run = run
        if self.presses:
            self._ask(run, "a signal")

    def over(self) -> None:
        """The run has ended: only its output is left to stop."""
        self._over = True

    async def settle(self) -> None:
        """Wait until every request to stop has been answered."""
        await asyncio.gather(*self._tasks)

    def _ask(self, run: Run, name: str) -> None:
        level = CancelLevel.BOUNDARY if self.presses == 1 else CancelLevel.ABORT
        self._tasks.append(asyncio.create_task(self._cancel(run, level, name)))

    async def _cancel(self, run: Run, level: CancelLevel, name: str) -> None:
        from core.cli._describe import in_flight

        try:
            receipt = await run.cancel(level, reason=name)
        except StepbrakeError as error:
            self._out.note(f"The stop could not be recorded: {error.what}")
            return
        if not receipt.changed:
            self._out.note(f"Nothing to stop: {receipt.why}.")
        elif level is CancelLevel.ABORT:
            self._out.note(f"Aborting: {in_flight(receipt.in_flight)}.")
        elif receipt.in_flight:
            self._out.note(f"Cancelling after {in_flight(receipt.in_flight)}; once more aborts it.")
        else:
            self._out.note("Cancelling: nothing is in flight.")
