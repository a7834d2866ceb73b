"""``runs``: what was run, what is running, and how to stop it."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from core.cli._session import Session, session
from core.cli._stdin import LARGEST
from core.errors import EXIT_DONE

app = typer.Typer(name="runs", help="List, show, follow and cancel runs.", rich_markup_mode=None)

_Run = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]


@app.command("list")
def _list(context: typer.Context) -> int:
    """List all runs, newest first."""
    return asyncio.run(_list_runs(session(context)))


@app.command("show")
def _show(context: typer.Context, run: _Run) -> int:
    """Show one run: where it is, what it spent, how it ended."""
    from core.cli._show import show_run

    return asyncio.run(show_run(session(context), run))


@app.command("events")
def _events(context: typer.Context, run: _Run) -> int:
    """Print the events a run has so far."""
    return asyncio.run(_print_events(session(context), run))


@app.command("attach")
def _attach(
    context: typer.Context,
    run: _Run,
    after: Annotated[
        int,
        typer.Option(metavar="SEQ", min=-1, max=LARGEST, help="Leave out events up to this one."),
    ] = -1,
) -> int:
    """Follow a run to its end, from any process. Ctrl+C only detaches."""
    return asyncio.run(_follow_run(session(context), run, after))


@app.command("cancel")
def _cancel(
    context: typer.Context,
    *,
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="The run's id.")] = None,
    now: Annotated[bool, typer.Option("--now", help="Also abort what is in flight.")] = False,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Every run that has not ended.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be cancelled.")
    ] = False,
) -> int:
    """Stop a run: nothing more starts, what is in flight is finished and recorded."""
    from core.cli._cancel import Cancelling, cancel_runs

    wish = Cancelling(run_id=run, every=every, now=now, dry_run=dry_run, reason=reason)
    return asyncio.run(cancel_runs(session(context), wish))


async def _list_runs(current: Session) -> int:
    from core.cli._stored import all_runs
    from core.cli._table import columns, moment
    from core.text import line

    out = current.out
    async with current.runtime() as runtime:
        async for row in all_runs(runtime):
            if out.as_json:
                out.record(row.to_json())
            else:
                shown = row.to_json()
                tokens = f"{row.usage.total_tokens} tokens"
                cells = [row.run_id, moment(shown["created_at"]), row.state, tokens, row.model]
                out.line(columns([*cells, line(row.prompt, 60)], (36, 20, 10, 13, 16)))
            await out.room()
            if out.detached:
                break
    return EXIT_DONE


async def _print_events(current: Session, run_id: str) -> int:
    from contextlib import aclosing

    from core.cli._describe import describe
    from core.cli._stored import stored_events
    from core.model import to_json

    out = current.out
    async with current.runtime() as runtime:
        row = await runtime.status(run_id)
        async with aclosing(stored_events(runtime, row)) as events:
            async for event in events:
                if out.as_json:
                    out.record(to_json(event))
                else:
                    out.line(f"{event.seq:>5}  {event.at:%H:%M:%S.%f}  {describe(event)}")
                await out.room()
                if out.detached:
                    break
    return EXIT_DONE


async def _follow_run(current: Session, run_id: str, after: int) -> int:
    from core.cli._follow import follow, terminal_exit_code
    from core.cli._signals import signals

    detach = asyncio.Event()
    with signals(lambda _: detach.set()):
        async with current.runtime() as runtime:
            await runtime.status(run_id)
            async with runtime.events(run_id, after=after) as events:
                following = asyncio.create_task(follow(events, current.out))
                leaving = asyncio.create_task(detach.wait())
                await asyncio.wait({following, leaving}, return_when=asyncio.FIRST_COMPLETED)
                leaving.cancel()
                await asyncio.wait({leaving})
                if following.done():
                    last = following.result()
                    if last is not None:
                        return terminal_exit_code(last)
                    # Everything there is lies before --after, its end too.
                    async with runtime.events(run_id) as whole:
                        ended = [event async for event in whole][-1]
                    return terminal_exit_code(ended)
                following.cancel()
                await asyncio.wait({following})
    current.out.abandon()
    current.out.note("Detached; the run goes on.")
    return EXIT_DONE
