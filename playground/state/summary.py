"""What the summary strip and the cancel button say."""

from __future__ import annotations

from playground.state.block import Tone
from playground.state.format import cost, count, elapsed, plural
from playground.state.run import Phase, RunView

Piece = tuple[str, Tone]

_PHASES: dict[Phase, Piece] = {
    Phase.STARTING: ("○ starting", Tone.ACCENT),
    Phase.RUNNING: ("● running", Tone.ACCENT),
    Phase.CANCELLING: ("■ cancelling", Tone.WARN),
    Phase.ABORTING: ("■ aborting", Tone.WARN),
    Phase.COMPLETED: ("✓ completed", Tone.GOOD),
    Phase.FAILED: ("✗ failed", Tone.BAD),
    Phase.CANCELLED: ("■ cancelled", Tone.TITLE),
}


def phase_piece(phase: Phase) -> Piece:
    """Return a phase's word with its sign."""
    return _PHASES[phase]


def summary(view: RunView | None, now_us: int, *, stored: bool = True) -> list[Piece]:
    """Return the strip's pieces, the most important first; the last give way.

    Args:
        view: the run, None before the first.
        now_us: UTC microseconds.
        stored: whether the store takes writes; a run of ours waits until it does.
    """
    if view is None:
        return [("no run yet", Tone.DIM)]
    usage = view.usage
    rounds = f"{view.round}/{view.max_rounds}" if view.max_rounds else str(view.round)
    streaming = view.streaming_tokens
    about = "~" if usage.estimated or streaming else ""
    waiting = view.phase.live and not view.attached and not stored
    written = usage.output_tokens + streaming
    pieces = [
        _PHASES[view.phase],
        ("waiting for the store" if waiting else "", Tone.WARN),
        (elapsed(view.elapsed_ms(now_us)), Tone.PLAIN),
        (f"round {rounds}", Tone.PLAIN),
        (f"{about}{count(usage.input_tokens)} in {count(written)} out", Tone.PLAIN),
        (plural(view.tool_calls, "tool call"), Tone.PLAIN),
        (cost(usage.cost_usd) if usage.requests else "", Tone.DIM),
        (view.model, Tone.DIM),
        ("attached" if view.attached else "", Tone.DIM),
    ]
    return [piece for piece in pieces if piece[0]]


def cancel_labels(view: RunView | None, now_us: int) -> list[str]:
    """Return what the cancel button may say, the fullest first."""
    if view is None or not view.phase.live or view.level is None:
        return ["Cancel"]
    waited = elapsed(max(0, now_us - (view.cancel_us or now_us)) / 1000)
    after = view.waits_for
    if view.phase is Phase.ABORTING:
        return [f"aborting · {after} · {waited}" if after else f"aborting · {waited}"]
    step = f" · after {after}" if after else ""
    return [
        f"cancelling{step} · {waited} · press again to abort",
        f"cancelling{step} · {waited} · again: abort",
        f"cancelling · {waited} · again: abort",
        f"cancelling · {waited}",
    ]
