"""Events in words: one line each, the receipt of a cancel in a few."""

from __future__ import annotations

from core.model import (
    Assembled,
    Cancelled,
    CancelRequested,
    Completed,
    Delta,
    Event,
    Failed,
    InFlight,
    Output,
    Receipt,
    Request,
    Response,
    Started,
    StepError,
    Tool,
    ToolStarted,
    Usage,
    level_name,
)
from core.text import line

_GIST = 80


def describe(event: Event) -> str:
    """Return what an event says, in one line whatever a model or a tool wrote."""
    return line(_say(event))


def _say(event: Event) -> str:  # noqa: PLR0911 - one arm for each kind
    match event:
        case Started():
            return f"run {event.run_id} · {event.model}"
        case Assembled():
            tools = ", ".join(event.tools) or "none"
            return f"prompt assembled · {_count(len(event.messages), 'message')} · tools: {tools}"
        case Request():
            attempt = f" · attempt {event.attempt}" if event.attempt > 1 else ""
            return f"→ {event.name} · round {event.round}{attempt}"
        case Response():
            return f"← {event.name} · {_response(event)}"
        case ToolStarted():
            return f"→ {event.name} {line(event.arguments, _GIST)}"
        case Tool():
            ended = _ended(event.outcome, event.executed, event.error)
            return f"← {event.name} · {ended}{_took(event)} · {line(event.result, _GIST)}"
        case CancelRequested():
            reason = f" ({event.reason})" if event.reason else ""
            return (
                f"■ cancel requested by {event.by}{reason} · {level_name(event.level)}"
                f" · in flight: {in_flight(event.in_flight)}"
            )
        case Completed():
            truncated = " · truncated" if event.truncated else ""
            return f"✓ {event.termination_reason}{truncated} · {_totals(event)}"
        case Failed():
            return (
                f"✗ failed: {event.error.message} · {event.termination_reason} · {_totals(event)}"
            )
        case Cancelled():
            return f"■ cancelled · {_totals(event)}"
        case Delta() | Output():
            return f"{event.name}: {line(event.text or getattr(event, 'thinking', ''), _GIST)}"
        case _:
            return str(event.kind)


def receipt_lines(receipt: Receipt) -> list[str]:
    """Return what a cancel did, for a person."""
    waited_ms = (receipt.stopped_at_us - receipt.requested_at_us) / 1_000
    reason = f" ({receipt.reason})" if receipt.reason else ""
    lines = [
        f"  asked for by {receipt.requested_by}{reason}, level {level_name(receipt.level)}",
        f"  stopped {duration(waited_ms)} later"
        + (f", after {receipt.boundary}" if receipt.boundary else ", between two steps"),
        f"  spent after the request: {usage(receipt.usage_after_request)};"
        f" by what was in flight: {usage(receipt.usage_in_flight)}",
    ]
    if receipt.calls_aborted:
        exposed = ", ".join(receipt.credentials_exposed) or "none"
        lines.append(
            f"  calls aborted: {', '.join(receipt.calls_aborted)}; credentials exposed: {exposed}"
        )
    if receipt.left_running:
        lines.append(f"  left running, end unknown: {in_flight(receipt.left_running)}")
    return lines


def in_flight(steps: tuple[InFlight, ...]) -> str:
    """Return steps as ``step (name)``, or ``nothing``."""
    return ", ".join(f"{item.step} ({item.name})" for item in steps) or "nothing"


def usage(spent: Usage) -> str:
    """Return what was spent: requests and tokens."""
    about = "~" if spent.estimated else ""
    return (
        f"{_count(spent.requests, 'request')},"
        f" {about}{spent.input_tokens} in, {about}{spent.output_tokens} out"
    )


def duration(milliseconds: float) -> str:
    """Return a length of time in the unit that suits it."""
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1_000:.1f} s"
    return f"{milliseconds / 60_000:.1f} min"


def _response(event: Response) -> str:
    parts = [_ended(event.outcome, event.executed, event.error) + _took(event), usage(event.usage)]
    if event.tool_calls:
        parts.append(f"asks for {', '.join(call.name for call in event.tool_calls)}")
    elif event.finish_reason:
        parts.append(event.finish_reason)
    if event.unrepresented:
        parts.append(f"not shown: {', '.join(event.unrepresented)}")
    return " · ".join(parts)


def _ended(outcome: str, executed: bool, error: StepError | None) -> str:
    if not executed:
        return "not executed"
    return outcome if error is None else f"{outcome}: {error.message}"


def _took(event: Event) -> str:
    return "" if event.duration_ms is None else f" · {duration(event.duration_ms)}"


def _totals(event: Completed | Failed | Cancelled) -> str:
    return (
        f"{_count(event.rounds, 'round')}, {_count(event.tool_calls, 'tool call')},"
        f" {usage(event.usage)}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
