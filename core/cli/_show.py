"""One run in full."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from core.cli._describe import describe, in_flight, receipt_lines, usage
from core.cli._output import Output
from core.cli._session import Session
from core.cli._stored import stored_events
from core.errors import EXIT_DONE
from core.model import Cancelled, Event, RunRow, Started, iso_time, level_name, to_json


async def show_run(current: Session, run_id: str) -> int:
    """Print one run.

    Raises:
        UnknownRun: there is no such run.
    """
    started: Started | None = None
    end: Event | None = None
    async with current.runtime() as runtime:
        row = await runtime.status(run_id)
        async with aclosing(stored_events(runtime, row)) as events:
            async for event in events:
                if isinstance(event, Started):
                    started = event
                if event.terminal:
                    end = event
    if current.out.as_json:
        current.out.record(_as_json(row, started, end))
    else:
        _print(current.out, row, started, end)
    return EXIT_DONE


def _as_json(row: RunRow, started: Started | None, end: Event | None) -> dict[str, Any]:
    cancel = None
    if row.cancel_us is not None:
        cancel = {
            "at": iso_time(row.cancel_us),
            "by": row.cancel_by,
            "reason": row.cancel_reason,
            "level": level_name(row.level),
        }
    return {
        **row.to_json(),
        "updated_at": iso_time(row.updated_us),
        "closed_at": None if row.closed_us is None else iso_time(row.closed_us),
        "owner": row.owner,
        "events": row.next_seq,
        "round": row.round,
        "tool_calls": row.tool_calls,
        "open_steps": [item.to_json() for item in row.open_steps],
        "cancel": cancel,
        "request": None if started is None else dict(started.request),
        "end": None if end is None else to_json(end),
    }


def _print(out: Output, row: RunRow, started: Started | None, end: Event | None) -> None:
    facts = [
        ("run", row.run_id),
        ("status", row.state),
        ("model", row.model),
        ("created", iso_time(row.created_us)),
        ("closed", "-" if row.closed_us is None else iso_time(row.closed_us)),
        ("owner", row.owner or "-"),
        ("spent", usage(row.usage)),
        ("rounds", f"{row.round}, {row.tool_calls} tool calls, {row.next_seq} events"),
        ("in flight", in_flight(row.open_steps)),
        ("prompt", row.prompt if started is None else str(started.request.get("prompt", ""))),
    ]
    for name, value in facts:
        out.line(f"{name:<10}{value}")
    if end is None:
        return
    out.line(describe(end))
    if isinstance(end, Cancelled):
        for line in receipt_lines(end.receipt):
            out.line(line)
    text = getattr(end, "text", "")
    if text:
        out.line("")
        out.line(text)
