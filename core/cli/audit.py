"""``audit``: which calls were made, and whether the log is what was written."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from core.cli._output import Output
from core.cli._session import Session, session
from core.cli._stdin import LARGEST
from core.errors import EXIT_AUDIT_BROKEN, EXIT_DONE, UsageError, did_you_mean
from core.model import AuditAction, AuditRow
from core.store.protocol import AuditQuery

app = typer.Typer(name="audit", help="List, show and verify the audit log.", rich_markup_mode=None)

_PAGE = 200


@app.command("list")
def _list(
    context: typer.Context,
    *,
    action: Annotated[
        list[str] | None,
        typer.Option(metavar="A", help="Only this action; repeat for more."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="T", help="At or after: RFC 3339, or 10m, 2h, 3d ago.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="T", help="Before this time.")] = None,
    run: Annotated[str | None, typer.Option(metavar="RUN", help="Only of this run.")] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most this many. Default: all.")
    ] = None,
) -> int:
    """List rows, newest first."""
    from core.cli._times import parse_time
    from core.clock import SystemClock

    now = SystemClock().now_us()
    query = AuditQuery(
        actions=tuple(_action(name) for name in action or ()),
        run_id=run,
        since_us=None if since is None else parse_time(since, now_us=now, option="--since"),
        until_us=None if until is None else parse_time(until, now_us=now, option="--until"),
    )
    return asyncio.run(_list_rows(session(context), query, limit))


@app.command("show")
def _show(
    context: typer.Context,
    seq: Annotated[
        int, typer.Argument(metavar="SEQ", min=1, max=LARGEST, help="The row's number.")
    ],
) -> int:
    """Show one row in full."""
    return asyncio.run(_show_row(session(context), seq))


@app.command("verify")
def _verify(context: typer.Context) -> int:
    """Check every row of the log against its chain. Exit code 5: it was tampered with."""
    from core.audit import verify_log

    current = session(context)
    result = verify_log(current.database, current.keys())
    findings = [{"reason": str(item.reason), "seq": item.seq} for item in result.findings]
    if current.out.as_json:
        current.out.record({"ok": result.ok, "rows": result.rows, "findings": findings})
    else:
        verdict = "intact" if result.ok else "BROKEN"
        current.out.line(f"{verdict}: {result.rows} rows, {len(findings)} findings")
        for finding in findings:
            current.out.line(f"  row {finding['seq']}: {finding['reason']}")
    return EXIT_DONE if result.ok else EXIT_AUDIT_BROKEN


def _action(name: str) -> AuditAction:
    try:
        return AuditAction(name)
    except ValueError:
        raise UsageError(
            "There is no such action",
            where=f"--action {name}",
            hint=did_you_mean(name, [action.value for action in AuditAction]),
        ) from None


async def _list_rows(current: Session, query: AuditQuery, limit: int | None) -> int:
    out = current.out
    left = limit
    before: int | None = None
    async with current.runtime() as runtime:
        while not out.detached and left != 0:
            size = _PAGE if left is None else min(_PAGE, left)
            page = await runtime.audit.page(query, before=before, limit=size)
            for row in page:
                _print_row(row, out)
                await out.room()
            if len(page) < size:
                break
            before = page[-1].seq
            left = None if left is None else left - len(page)
    return EXIT_DONE


def _print_row(row: AuditRow, out: Output) -> None:
    from core.cli._table import columns, moment

    shown = row.to_json()
    if out.as_json:
        out.record(shown)
        return
    state = "ok" if row.success else "failed"
    call = f"{row.method} {row.status} {row.host}{row.path}" if row.method else ""
    about = [call, row.credential and f"credential {row.credential}", row.message]
    text = " · ".join(part for part in about if part)
    cells = [str(row.seq), moment(shown["at"]), row.action.value, state, text]
    out.line(columns(cells, (6, 20, 33, 6)))


async def _show_row(current: Session, seq: int) -> int:
    async with current.runtime() as runtime:
        page = await runtime.audit.page(AuditQuery(), before=seq + 1, limit=1)
    if not page or page[0].seq != seq:
        raise UsageError(
            "There is no such row", where=f"seq {seq}", hint="See `playground audit list`."
        )
    row = page[0]
    shown = {**row.to_json(), "key_id": row.key_id, "mac": row.mac.hex()}
    if current.out.as_json:
        current.out.record(shown)
    else:
        for name, value in shown.items():
            current.out.line(f"{name:<12}{'-' if value is None else value}")
    return EXIT_DONE
