"""A cancel's receipt as lines of the inspector."""

from __future__ import annotations

from collections.abc import Iterator

from core.model import CancelLevel, Receipt, Usage, iso_time
from playground.state.block import Block, Tone, fact
from playground.state.format import cost, count, duration, plural

_HOW = {CancelLevel.BOUNDARY: "at the boundary", CancelLevel.ABORT: "by abort"}


def receipt_facts(receipt: Receipt, boundary: str) -> Iterator[Block]:
    """Return the receipt: who, when, where it stopped, what was spent.

    Args:
        receipt: the receipt.
        boundary: the step at whose boundary it stopped, by name; empty if there was none.
    """
    waited = duration((receipt.stopped_at_us - receipt.requested_at_us) / 1000)
    yield Block(f"■ cancelled {_HOW[receipt.level]}\n\n", Tone.TITLE)
    yield from fact("asked by", receipt.requested_by)
    if receipt.reason:
        yield from fact("reason", receipt.reason)
    yield from fact("asked at", _time(receipt.requested_at_us))
    yield from fact("stopped at", f"{_time(receipt.stopped_at_us)}  ({waited} later)")
    yield from fact("boundary", boundary or "nothing was in flight")
    yield from fact("spent", _spent(receipt.usage))
    yield from fact("of it in flight", _spent(receipt.usage_in_flight))
    after = receipt.usage_after_request
    yield from fact("after the ask", _spent(after), Tone.GOOD if after == Usage() else Tone.WARN)
    yield from _list("calls aborted", receipt.calls_aborted, Tone.PLAIN)
    yield from _list("exposed", receipt.credentials_exposed, Tone.WARN)
    left = tuple(f"{item.name} ({item.step})" for item in receipt.left_running)
    yield from _list("left running", left, Tone.WARN)


def _list(label: str, values: tuple[str, ...], tone: Tone) -> Iterator[Block]:
    for number, value in enumerate(values):
        yield from fact("" if number else label, value, tone)


def _time(at_us: int) -> str:
    return iso_time(at_us)[11:23] + " UTC"


def _spent(usage: Usage) -> str:
    if usage == Usage():
        return "nothing"
    about = "~" if usage.estimated else ""
    return (
        f"{about}{count(usage.input_tokens)} in, {count(usage.output_tokens)} out · "
        f"{cost(usage.cost_usd)} · {plural(usage.requests, 'request')}"
    )
