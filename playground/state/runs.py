"""All runs as a list: what is known of them, and what a line says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from core.model import CancelLevel, RunRow, RunStatus
from playground.state.block import Tone
from playground.state.columns import Column
from playground.state.format import count, duration, short_count
from playground.state.run import MODEL_CALL, Phase
from playground.state.summary import Piece, phase_piece

PAGE_RUNS = 100
"""Runs read at a time."""

_PHASES = {
    RunStatus.RUNNING: Phase.RUNNING,
    RunStatus.COMPLETED: Phase.COMPLETED,
    RunStatus.FAILED: Phase.FAILED,
    RunStatus.CANCELLED: Phase.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class RunList:
    """The runs that were read so far, newest first.

    Attributes:
        rows: the runs.
        complete: whether the oldest of all is among them.
    """

    rows: tuple[RunRow, ...] = ()
    complete: bool = False

    def merged(self, page: Sequence[RunRow], before: str | None, limit: int) -> RunList:
        """Return the list with a page that was read anew in its place.

        Args:
            page: runs older than ``before``, newest first.
            before: the run the page follows; None for the newest.
            limit: how many were asked for; fewer means that there are no older ones.
        """
        start = 0 if before is None else self._place(before) + 1
        head = self.rows[:start]
        if len(page) < limit:
            return RunList((*head, *page), complete=True)
        end = self._place(page[-1].run_id, start)
        # A page that does not reach what is known leaves a gap: the rest is read again.
        rest, complete = ((), False) if end < 0 else (self.rows[end + 1 :], self.complete)
        return RunList((*head, *page, *rest), complete)

    def _place(self, run_id: str, start: int = 0) -> int:
        for place in range(start, len(self.rows)):
            if self.rows[place].run_id == run_id:
                return place
        return -1

    def index(self, run_id: str) -> int | None:
        """Return where a run is, None if it is not in the list."""
        place = self._place(run_id)
        return None if place < 0 else place

    def replaced(self, row: RunRow) -> RunList:
        """Return the list with one run as it is now."""
        return replace(
            self, rows=tuple(row if row.run_id == old.run_id else old for old in self.rows)
        )


def live(row: RunRow) -> bool:
    """Return whether a run may still change."""
    return row.cancelling or not row.status.terminal


def phase(row: RunRow) -> Piece:
    """Return a run's state as a sign, a word and a tone."""
    if row.cancelling:
        return phase_piece(Phase.ABORTING if row.level is CancelLevel.ABORT else Phase.CANCELLING)
    known = _PHASES.get(row.status)
    if known is None:
        return f"○ {row.status.value.replace('_', ' ')}", Tone.ACCENT
    return phase_piece(known)


def doing(row: RunRow) -> str:
    """Return the step a run is in, what it waits for, or why it ended."""
    names = [MODEL_CALL if step.kind == "request" else step.name for step in row.open_steps]
    step = ", ".join(names)
    if row.cancelling:
        return f"after {step}" if step else "closing"
    if live(row):
        return f"{step} · round {row.round}" if step else f"round {row.round}"
    reason = row.termination_reason.value if row.termination_reason else ""
    if row.status is RunStatus.CANCELLED:
        return f"by {row.cancel_by}" if row.cancel_by else ""
    return "" if reason == row.status.value else reason.replace("_", " ")


def owner(row: RunRow, here: Collection[str]) -> str:
    """Return who drives a run; ``here`` are the runs this process drives."""
    if not live(row):
        return ""
    if row.run_id in here:
        return "here"
    return f"pid {row.owner.partition('-')[0]}" if row.owner else "nobody"


def age(row: RunRow, now_us: int) -> str:
    """Return how long ago a run was started, in whole units."""
    seconds = max(0, now_us - row.created_us) // 1_000_000
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 86_400:
        return duration(seconds * 1000).partition(" ")[0]
    return f"{seconds // 86_400}d"


def tokens(row: RunRow) -> str:
    """Return what a run has spent in tokens, marked if it is an estimate."""
    about = "~" if row.usage.estimated else ""
    return f"{about}{short_count(row.usage.total_tokens)}"


def columns(width: int) -> tuple[Column, ...]:
    """Return the columns that fit a list of ``width`` cells."""
    kept = [Column("status", 12), Column("prompt", grow=True)]
    if width >= 64:
        kept.insert(1, Column("model", 14 if width >= 100 else 10))
    if width >= 76:
        kept.append(Column("step", 24 if width >= 100 else 18))
        kept.append(Column("tokens", 6, right=True))
    if width >= 90:
        kept.append(Column("owner", 9))
    kept.append(Column("age", 4, right=True))
    if width >= 110:
        kept.insert(0, Column("run", 8))
    return tuple(kept)


def title(runs: RunList) -> str:
    """Return what the list says above itself."""
    alive = sum(live(row) for row in runs.rows)
    more = "" if runs.complete else "+"
    return f"runs · {count(len(runs.rows))}{more}" + (f" · {alive} live" if alive else "")
