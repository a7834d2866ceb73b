"""``secret``: values that calls carry and nobody sees."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from core.cli._session import Session, session
from core.errors import EXIT_DONE, UsageError

app = typer.Typer(name="secret", help="Set, list and delete secrets.", rich_markup_mode=None)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The secret's name.")]


@app.command("set")
def _set(
    context: typer.Context,
    name: _Name,
    host: Annotated[
        list[str] | None,
        typer.Option(metavar="H", help="Send it to this host only; repeat for more."),
    ] = None,
    header: Annotated[
        str | None,
        typer.Option(metavar="H", help="Send it in this header. Default: Authorization: Bearer."),
    ] = None,
) -> int:
    """Store a secret. Its value comes from standard input, never from the command line."""
    value = _value()
    return asyncio.run(_store(session(context), name, value, tuple(host or ()), header))


@app.command("list")
def _list(context: typer.Context) -> int:
    """List the secrets by name. No value is shown, none is decrypted."""
    return asyncio.run(_list_secrets(session(context)))


@app.command("delete")
def _delete(context: typer.Context, name: _Name) -> int:
    """Delete a secret."""
    return asyncio.run(_drop(session(context), name))


def _value() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass

        try:
            value = getpass("Value (not shown): ", stream=sys.stderr)
        except EOFError:
            value = ""
    else:
        from core.cli._stdin import read_stdin

        value = read_stdin("The secret's value")
    if not value:
        raise UsageError(
            "The secret's value is empty",
            hint="It comes from standard input: `playground secret set NAME < file`.",
        )
    return value


async def _store(
    current: Session, name: str, value: str, hosts: tuple[str, ...], header: str | None
) -> int:
    async with current.runtime() as runtime:
        created = await runtime.secrets.set(
            name, value, hosts=hosts, header=header, actor=runtime.user
        )
    if current.out.as_json:
        current.out.record({"name": name, "created": created})
    else:
        current.out.line(f"{name}: {'created' if created else 'updated'}")
    return EXIT_DONE


async def _list_secrets(current: Session) -> int:
    from core.cli._table import columns, moment
    from core.model import iso_time

    async with current.runtime() as runtime:
        secrets = await runtime.secrets.list()
    for info in secrets:
        credential = info.credential
        updated = iso_time(info.updated_us)
        if current.out.as_json:
            current.out.record(
                {
                    "name": credential.name,
                    "placement": credential.placement,
                    "field": credential.header,
                    "hosts": list(credential.hosts),
                    "version": info.version,
                    "created_at": iso_time(info.created_us),
                    "updated_at": updated,
                }
            )
        else:
            hosts = ", ".join(credential.hosts) or "any host"
            cells = [credential.name, f"{credential.placement} in {credential.header}"]
            current.out.line(columns([*cells, moment(updated), hosts], (24, 26, 20)))
    return EXIT_DONE


async def _drop(current: Session, name: str) -> int:
    async with current.runtime() as runtime:
        if not await runtime.secrets.delete(name, actor=runtime.user):
            raise UsageError(
                "There is no such secret", where=name, hint="See `playground secret list`."
            )
    if current.out.as_json:
        current.out.record({"name": name, "deleted": True})
    else:
        current.out.line(f"{name}: deleted")
    return EXIT_DONE
