"""``secret``: values that calls carry and nobody sees."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from core.cli._session import Session, session
from core.errors import EXIT_DONE, UsageError

if TYPE_CHECKING:
    from core.config import Config, Placement
    from core.vault import SecretInfo

app = typer.Typer(
    name="secret", help="Set, list, rotate and delete secrets.", rich_markup_mode=None
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The secret's name.")]


@app.command("set")
def _set(
    context: typer.Context,
    name: _Name,
    *,
    host: Annotated[
        list[str] | None,
        typer.Option(metavar="H", help="Send it to this host only; repeat for more."),
    ] = None,
    header: Annotated[
        str | None,
        typer.Option(
            metavar="H",
            help="Send it in this header. Default: as configured, else Authorization: Bearer.",
        ),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="T", help="Refuse it from this time on: RFC 3339.")
    ] = None,
    description: Annotated[
        str, typer.Option(metavar="TEXT", help="A line for a person; it is not encrypted.")
    ] = "",
) -> int:
    """Store a secret. Its value comes from standard input, never from the command line."""
    expires_us = None if expires is None else _time(expires)
    value = _value("set")
    return asyncio.run(
        _store(
            session(context),
            name,
            value,
            hosts=tuple(host or ()),
            header=header,
            expires_us=expires_us,
            description=description,
        )
    )


@app.command("list")
def _list(context: typer.Context) -> int:
    """List the secrets by name. No value is shown, none is decrypted."""
    return asyncio.run(_list_secrets(session(context)))


@app.command("rotate")
def _rotate(context: typer.Context, name: _Name) -> int:
    """Give a secret a new value, from standard input; all else of it stays."""
    return asyncio.run(_replace(session(context), name, _value("rotate")))


@app.command("rotate-key")
def _rotate_key(context: typer.Context) -> int:
    """Put every secret under a new master key. Killed halfway, it goes on when run again."""
    return asyncio.run(_renew(session(context)))


@app.command("delete")
def _delete(context: typer.Context, name: _Name) -> int:
    """Delete a secret."""
    return asyncio.run(_drop(session(context), name))


def _time(text: str) -> int:
    from core.cli._times import parse_time
    from core.clock import SystemClock

    return parse_time(text, now_us=SystemClock().now_us(), option="--expires")


def _value(command: str) -> str:
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
            hint=f"It comes from standard input: `playground secret {command} NAME < file`.",
        )
    return value


def _configured_place(config: Config, name: str) -> tuple[Placement | None, str | None]:
    """Return how the configuration sends a secret; None and None if it does not say."""
    entry = config.credentials.get(name)
    if entry is not None and entry.oauth is None:
        return entry.placement, entry.field
    for other in config.credentials.values():
        for field, secret in other.body_fields:
            if secret == name:
                return "body_field", field
        if other.oauth is not None and name == other.oauth.client_secret:
            return "body_field", "client_secret"
        if other.oauth is not None and name == other.oauth.refresh_token:
            return "body_field", "refresh_token"
    return None, None


async def _store(
    current: Session,
    name: str,
    value: str,
    *,
    hosts: tuple[str, ...],
    header: str | None,
    expires_us: int | None,
    description: str,
) -> int:
    from core.config import load_config

    placement, field = None, None
    if header is None:
        placement, field = _configured_place(load_config(current.options.config), name)
    async with current.runtime() as runtime:
        created = await runtime.secrets.set(
            name,
            value,
            hosts=hosts,
            header=header,
            placement=placement,
            field=field,
            expires_us=expires_us,
            description=description,
            actor=runtime.user,
        )
    if current.out.as_json:
        current.out.record({"name": name, "created": created})
    else:
        current.out.line(f"{name}: {'created' if created else 'updated'}")
    return EXIT_DONE


async def _list_secrets(current: Session) -> int:
    async with current.runtime() as runtime:
        secrets = await runtime.secrets.list()
        now_us = runtime.clock.now_us()
    for info in secrets:
        if current.out.as_json:
            _record(current, info)
        else:
            _line(current, info, now_us)
    return EXIT_DONE


def _record(current: Session, info: SecretInfo) -> None:
    from core.model import iso_time

    credential = info.credential
    current.out.record(
        {
            "name": credential.name,
            "placement": credential.placement,
            "field": credential.field,
            "hosts": list(credential.hosts),
            "version": info.version,
            "created_at": iso_time(info.created_us),
            "updated_at": iso_time(info.updated_us),
            "expires_at": None
            if credential.expires_us is None
            else iso_time(credential.expires_us),
            "description": info.description,
        }
    )


def _line(current: Session, info: SecretInfo, now_us: int) -> None:
    from core.cli._table import columns, moment
    from core.model import iso_time

    credential = info.credential
    ends = credential.expires_us
    if ends is None:
        expiry = "never expires"
    else:
        expiry = f"{'EXPIRED' if ends <= now_us else 'expires'} {moment(iso_time(ends))}"
    cells = [
        credential.name,
        f"{credential.placement} in {credential.field}",
        moment(iso_time(info.updated_us)),
        expiry,
        ", ".join(credential.hosts) or "any host",
        info.description,
    ]
    current.out.line(columns(cells, (24, 26, 20, 28, 24)))


async def _replace(current: Session, name: str, value: str) -> int:
    async with current.runtime() as runtime:
        version = await runtime.secrets.rotate(name, value, actor=runtime.user)
    if current.out.as_json:
        current.out.record({"name": name, "version": version})
    else:
        current.out.line(f"{name}: rotated, version {version}")
    return EXIT_DONE


async def _renew(current: Session) -> int:
    async with current.runtime() as runtime:
        rotated = await runtime.secrets.rotate_key(actor=runtime.user)
    if current.out.as_json:
        current.out.record({"key_id": rotated.key_id, "rewrapped": rotated.rewrapped})
    else:
        current.out.line(f"key {rotated.key_id}: {rotated.rewrapped} secrets under it")
        current.out.note("Earlier keys were kept: other databases may still need them.")
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
