"""``demo-server``: the scripted model and its API, for other processes."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from core.cli._session import Session, session
from core.errors import EXIT_DONE


def register(root: typer.Typer) -> None:
    """Add the command."""
    root.command("demo-server")(_demo_server)


def _demo_server(
    context: typer.Context,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65_535, help="0: any free port.")
    ] = 0,
) -> int:
    """Serve the demo on loopback until a signal; PLAYGROUND_DEMO_URL points others to it."""
    return asyncio.run(_serve(session(context), port))


async def _serve(current: Session, port: int) -> int:
    from core.cli._signals import signals
    from core.demo import DemoServer, pace_from_environment

    out = current.out
    stop = asyncio.Event()
    with signals(lambda _: stop.set()):
        # Its clients have databases, and therefore demo credentials, of their own.
        server = DemoServer(pace=pace_from_environment(), port=port)
        await server.start()
        try:
            if out.as_json:
                out.record({"url": server.url})
            else:
                out.line(server.url)
                out.note(f"Use it with PLAYGROUND_DEMO_URL={server.url}; Ctrl+C ends it.")
            await stop.wait()
        finally:
            await server.close()
    return EXIT_DONE
