"""What a row says about itself in the room of one line."""

from __future__ import annotations

from dataclasses import dataclass

from core.model import (
    Cancelled,
    CancelLevel,
    CancelRequested,
    Completed,
    Failed,
    StepOutcome,
    ToolCall,
)
from playground.state.block import Tone
from playground.state.format import count, duration, plural
from playground.state.steps import RowKind, StepView

_HEAD = 300


@dataclass(frozen=True, slots=True)
class Gist:
    """One line about a row.

    Attributes:
        text: the line; may be longer than the room there is.
        tone: how it is meant.
        tail: if it does not fit, show its end (a text that streams), not its head.
    """

    text: str
    tone: Tone = Tone.PLAIN
    tail: bool = False


_GLYPHS: dict[StepOutcome | None, tuple[str, Tone]] = {
    StepOutcome.OK: ("✓", Tone.GOOD),
    StepOutcome.ERROR: ("✗", Tone.BAD),
    StepOutcome.INTERRUPTED: ("■", Tone.PLAIN),
    StepOutcome.UNKNOWN: ("?", Tone.WARN),
}
_KIND_GLYPHS = {
    RowKind.ASSEMBLED: ("✓", Tone.GOOD),
    RowKind.CANCEL: ("■", Tone.ACCENT),
    RowKind.COMPLETED: ("✓", Tone.GOOD),
    RowKind.FAILED: ("✗", Tone.BAD),
    RowKind.CANCELLED: ("■", Tone.PLAIN),
    RowKind.OTHER: ("·", Tone.DIM),
}


def glyph(row: StepView) -> tuple[str, Tone]:
    """Return a row's sign. What was cancelled is neutral, never red."""
    if row.live:
        return "●", Tone.ACCENT
    if row.kind in _KIND_GLYPHS:
        return _KIND_GLYPHS[row.kind]
    if not row.executed and row.error is None:
        return "○", Tone.DIM
    return _GLYPHS.get(row.outcome, ("○", Tone.DIM))


def gist(row: StepView) -> Gist:
    """Return what a row says about itself."""
    if row.live:
        return _live(row)
    match row.kind:
        case RowKind.ASSEMBLED:
            offered = f" · {plural(len(row.offered), 'tool')} on offer" if row.offered else ""
            return Gist(plural(row.messages, "message") + offered, Tone.DIM)
        case RowKind.MODEL | RowKind.TOOL:
            return _ended(row)
        case RowKind.OTHER:
            return Gist(row.name, Tone.DIM)
        case _:
            return _lifecycle(row)


def _live(row: StepView) -> Gist:
    for stream in (row.text, row.output):
        if stream:
            return Gist(stream.tail, tail=True)
    if row.thinking:
        return Gist(row.thinking.tail, Tone.DIM, tail=True)
    if row.kind is RowKind.TOOL:
        return Gist(row.arguments[:_HEAD], Tone.DIM)
    return Gist(
        "at work in another process" if row.remote else "waiting for the first token", Tone.DIM
    )


def _ended(row: StepView) -> Gist:
    if not row.executed and row.error is None:
        return Gist("not executed: the run was cancelled", Tone.DIM)
    if row.outcome is StepOutcome.INTERRUPTED:
        kept = row.text.total
        return Gist(f"cut short · {count(kept)} characters kept" if kept else "cut short", Tone.DIM)
    if row.outcome is StepOutcome.UNKNOWN:
        return Gist("outcome unknown: it may have gone through", Tone.WARN)
    if row.error is not None:
        return Gist(f"{row.error.code}: {row.error.message}", Tone.BAD)
    if row.calls:
        return Gist("→ " + ", ".join(_call(call) for call in row.calls[:8]))
    return Gist(row.text.kept[:_HEAD] or "empty answer", Tone.PLAIN if row.text else Tone.DIM)


def _call(call: ToolCall) -> str:
    return f"{call.name}({call.arguments[:_HEAD]})"


def _stopped(row: StepView) -> Gist:
    if not isinstance(row.event, Cancelled):
        return Gist("", Tone.DIM)
    receipt = row.event.receipt
    waited = duration((receipt.stopped_at_us - receipt.requested_at_us) / 1000)
    how = "at the boundary" if receipt.level is CancelLevel.BOUNDARY else "by abort"
    return Gist(f"{how} after {waited}")


def _lifecycle(row: StepView) -> Gist:
    match row.event:
        case CancelRequested():
            reason = f' · "{row.event.reason}"' if row.event.reason else ""
            return Gist(f"{row.event.level.name.lower()} · by {row.event.by}{reason}")
        case Completed():
            if row.event.truncated:
                return Gist(f"truncated: {row.event.termination_reason.value}", Tone.WARN)
            return Gist("", Tone.DIM)
        case Failed():
            return Gist(f"{row.event.error.code}: {row.event.error.message}", Tone.BAD)
        case _:
            return _stopped(row)
