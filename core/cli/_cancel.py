"""``runs cancel``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.cli._describe import in_flight
from core.cli._output import Output
from core.cli._session import Session
from core.cli._stored import all_runs
from core.errors import EXIT_DONE, EXIT_FAILED, UsageError
from core.model import CancelLevel, CancelReceipt, RunRow, RunStatus, receipt_json

if TYPE_CHECKING:
    from core.runtime import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelling:
    """What a person wants stopped.

    Attributes:
        run_id: one run, or None.
        every: every run that has not ended.
        now: abort what is in flight.
        dry_run: only show what would be done.
        reason: their words.
    """

    run_id: str | None
    every: bool
    now: bool
    dry_run: bool
    reason: str

    @property
    def level(self) -> CancelLevel:
        """Return how hard to stop."""
        return CancelLevel.ABORT if self.now else CancelLevel.BOUNDARY


async def cancel_runs(current: Session, wish: Cancelling) -> int:
    """Cancel one run or all that have not ended.

    Returns:
        0: changed or already cancelled; 1: the run had ended otherwise.

    Raises:
        UnknownRun: there is no such run.
        UsageError: neither or both of a run and ``--all``.
    """
    if (wish.run_id is None) != wish.every:
        raise UsageError("Name one run, or --all", hint="See `playground runs list`.")
    async with current.runtime() as runtime:
        if wish.run_id is not None:
            return await _one(runtime, wish.run_id, wish, current.out)
        found = 0
        async for row in all_runs(runtime):
            if not row.status.terminal or row.cancelling:
                # A run that ends by itself meanwhile is no failure of this command.
                await _one(runtime, row.run_id, wish, current.out)
                found += 1
        if not found:
            current.out.note("No run is left to cancel.")
    return EXIT_DONE


async def _one(runtime: Runtime, run_id: str, wish: Cancelling, out: Output) -> int:
    if wish.dry_run:
        row = await runtime.status(run_id)
        if out.as_json:
            out.record(_preview(row, wish.level))
        else:
            out.line(_preview_line(row, wish.level))
        return _code(changed=_would_change(row, wish.level), status=row.status)
    receipt = await runtime.cancel(run_id, wish.level, reason=wish.reason)
    if out.as_json:
        out.record(receipt_json(receipt))
    else:
        out.line(_receipt_line(receipt))
    return _code(changed=receipt.changed, status=receipt.status_before)


def _code(*, changed: bool, status: str) -> int:
    return EXIT_DONE if changed or status == RunStatus.CANCELLED else EXIT_FAILED


def _would_change(row: RunRow, level: CancelLevel) -> bool:
    if row.cancelling:
        return row.level is None or level > row.level
    return not row.status.terminal


def _preview(row: RunRow, level: CancelLevel) -> dict[str, Any]:
    return {
        "dry_run": True,
        "would_change": _would_change(row, level),
        "run_id": row.run_id,
        "status": row.status.value,
        "cancelling": row.cancelling,
        "in_flight": [item.to_json() for item in row.open_steps],
    }


def _preview_line(row: RunRow, level: CancelLevel) -> str:
    if not _would_change(row, level):
        return f"{row.run_id}: would not change, it is {row.state}"
    return f"{row.run_id}: {row.state}, would be cancelled; in flight: {in_flight(row.open_steps)}"


def _receipt_line(receipt: CancelReceipt) -> str:
    if not receipt.changed:
        return f"{receipt.run_id}: not changed, {receipt.why}"
    durable = "" if receipt.durable else " (not on disk yet)"
    return (
        f"{receipt.run_id}: cancelled{durable}, was {receipt.status_before};"
        f" in flight: {in_flight(receipt.in_flight)}"
    )
