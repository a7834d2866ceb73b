"""Rows of runs in any state, and a runtime that only lists them."""

from __future__ import annotations

from dataclasses import replace

from core.errors import StoreUnavailable
from core.model import (
    CancelLevel,
    CancelReceipt,
    InFlight,
    RunRow,
    RunStatus,
    TerminationReason,
    Usage,
)

S = RunStatus
MINUTE_US = 60_000_000


def run(number: int, now_us: int, status: RunStatus = S.COMPLETED, **values: object) -> RunRow:
    """Return a run that was started ``number`` minutes before ``now_us``."""
    started = now_us - number * MINUTE_US
    chosen: dict[str, object] = {
        "run_id": f"0198f3c2-7a10-7c3e-9b1d-{999_999_999_999 - number:012d}",
        "status": status,
        "termination_reason": TerminationReason(status.value) if status is S.COMPLETED else None,
        "model": "demo",
        "prompt": f"What is the weather in place {number}?",
        "created_us": started,
        "updated_us": started,
        "closed_us": started if status.terminal else None,
        "owner": None if status.terminal else "4711-ab12",
        "claim": 1,
        "next_seq": 9,
        "round": 2,
        "tool_calls": 1,
        "usage": Usage(2, 900, 334),
    }
    return RunRow(**(chosen | values))  # type: ignore[arg-type]


def some_runs(now_us: int) -> list[RunRow]:
    """One run in each state a list can show, newest first."""
    calls = (InFlight("r2.t1", "tool_started", "get_weather"),)
    model = (InFlight("r1.m1", "request", "demo"),)
    return [
        run(
            0,
            now_us,
            S.RUNNING,
            open_steps=model,
            prompt="Write an essay about brakes",
            round=1,
            model="demo/essay",
        ),
        run(1, now_us, S.RUNNING, open_steps=calls, owner="812-9c0d"),
        run(
            2,
            now_us,
            S.CANCELLED,
            closed_us=None,
            owner="812-9c0d",
            open_steps=calls,
            level=CancelLevel.BOUNDARY,
            cancel_by="ada",
            cancel_us=now_us,
        ),
        run(
            4,
            now_us,
            S.CANCELLED,
            termination_reason=TerminationReason.CANCELLED,
            level=CancelLevel.ABORT,
            cancel_by="ada",
            usage=Usage(1, 400, 90, estimated=True),
        ),
        run(9, now_us),
        run(
            75,
            now_us,
            S.FAILED,
            termination_reason=TerminationReason.PROVIDER_FAILED,
            model="local-llama",
        ),
        run(700, now_us, termination_reason=TerminationReason.MAX_ROUNDS),
        run(3_000, now_us, S.FAILED, termination_reason=TerminationReason.ABANDONED),
    ]


class FakeRuns:
    """Lists rows like ``runtime.runs`` and notes what it was asked for."""

    def __init__(self, rows: list[RunRow], live: tuple[str, ...] = ()) -> None:
        self.rows = rows
        self.live = live
        self.pages: list[str | None] = []
        self.cancels: list[tuple[str, CancelLevel]] = []
        self.down = False

    async def runs(self, *, limit: int = 100, before: str | None = None) -> list[RunRow]:
        self.pages.append(before)
        if self.down:
            raise StoreUnavailable("The store does not answer.")
        start = 0
        if before is not None:
            start = next(i for i, row in enumerate(self.rows) if row.run_id == before) + 1
        return self.rows[start : start + limit]

    async def cancel(
        self,
        run_id: str,
        level: CancelLevel = CancelLevel.BOUNDARY,
        *,
        by: str | None = None,
        reason: str = "",
    ) -> CancelReceipt:
        if self.down:
            raise StoreUnavailable("The store does not answer.")
        self.cancels.append((run_id, level))
        for place, row in enumerate(self.rows):
            if row.run_id == run_id:
                self.rows[place] = replace(
                    row, status=S.CANCELLED, closed_us=None, level=level, cancel_by="ada"
                )
        return CancelReceipt(changed=True, run_id=run_id, status_before="running", level=level)
