"""What the inspector shows of a row: tabs, and the text behind each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from enum import StrEnum

from core.model import (
    Cancelled,
    CancelRequested,
    Completed,
    Failed,
    Message,
    ToolCall,
    ToolStarted,
    to_json,
)
from playground.state.block import Block, Tone, fact
from playground.state.format import cost, count, plural
from playground.state.receipt import receipt_facts
from playground.state.run import RunView
from playground.state.steps import RowKind, StepView
from playground.state.stream import StreamText


class Tab(StrEnum):
    """The inspector's tabs, in their order."""

    MESSAGES = "messages"
    TOOLS = "tools"
    STRUCTURED = "structured"
    RAW = "raw"
    THINKING = "thinking"
    ARGUMENTS = "arguments"
    RESULT = "result"
    ARTIFACTS = "artifacts"


_PREFERRED = {
    RowKind.ASSEMBLED: (Tab.MESSAGES,),
    RowKind.TOOL: (Tab.RESULT, Tab.ARGUMENTS),
    RowKind.MODEL: (Tab.RESULT, Tab.THINKING, Tab.TOOLS, Tab.STRUCTURED),
}


def tabs(row: StepView) -> frozenset[Tab]:
    """Return the tabs that have something to show."""
    has = {
        Tab.MESSAGES: row.messages > 0,
        Tab.TOOLS: bool(row.offered or row.calls),
        Tab.STRUCTURED: row.event is not None,
        Tab.RAW: row.raw is not None,
        Tab.THINKING: bool(row.thinking),
        Tab.ARGUMENTS: bool(row.arguments) or any(call.arguments for call in row.calls),
        Tab.RESULT: bool(row.text or row.output or row.error or row.live) or row.kind in _LIFECYCLE,
        Tab.ARTIFACTS: bool(row.call_ids),
    }
    return frozenset(tab for tab, present in has.items() if present)


_LIFECYCLE = {RowKind.CANCEL, RowKind.COMPLETED, RowKind.FAILED, RowKind.CANCELLED}


def pick_tab(row: StepView, wanted: Tab | None) -> Tab | None:
    """Return the tab to show: the wanted one if it has content, else the best there is."""
    present = tabs(row)
    if wanted is not None and wanted in present:
        return wanted
    if row.live and not (row.text or row.output):
        early = Tab.ARGUMENTS if row.kind is RowKind.TOOL else Tab.THINKING
        if early in present:
            return early
    candidates: tuple[Tab, ...] = (*_PREFERRED.get(row.kind, (Tab.RESULT,)), *Tab)
    for tab in candidates:
        if tab in present:
            return tab
    return None


def document(view: RunView, row: StepView, tab: Tab) -> list[Block]:
    """Return a tab's text."""
    if tab is Tab.MESSAGES:
        return [*_messages(view.transcript[: row.messages])]
    if tab is Tab.RESULT and isinstance(row.event, Cancelled):
        return [*_cancelled(view, row, row.event)]
    return [*_TABS[tab](row)]


def _messages(messages: list[Message]) -> Iterator[Block]:
    for number, message in enumerate(messages):
        gap = "\n\n" if number else ""
        about = f" · {message.tool_call_id}" if message.tool_call_id else ""
        yield Block(f"{gap}{message.role}{about}\n", Tone.TITLE)
        if message.content:
            yield Block(StreamText(message.content))
        for call in message.tool_calls:
            yield Block(f"\n→ {call.name} {call.arguments}", Tone.ACCENT)


def _tools(row: StepView) -> Iterator[Block]:
    if row.offered:
        yield Block("on offer\n", Tone.TITLE)
        yield Block("\n".join(row.offered))
    if row.calls:
        yield Block("\n\nasked for\n" if row.offered else "asked for\n", Tone.TITLE)
        yield Block("\n".join(f"{call.name}  {call.id}" for call in row.calls))


def _arguments(row: StepView) -> Iterator[Block]:
    if row.arguments:
        effect = row.event.effect if isinstance(row.event, ToolStarted) else ""
        if effect:
            yield Block(f"effect: {effect}\n", Tone.DIM)
        yield Block(StreamText(pretty_json(row.arguments)))
    for number, call in enumerate(row.calls):
        yield from _call(call, first=number == 0)


def _call(call: ToolCall, *, first: bool) -> Iterator[Block]:
    yield Block(f"{'' if first else chr(10) * 2}{call.name}\n", Tone.TITLE)
    yield Block(StreamText(pretty_json(call.arguments)))


def _structured(row: StepView) -> Iterator[Block]:
    if row.event is not None:
        yield Block(StreamText(json.dumps(to_json(row.event), indent=2, ensure_ascii=False)))


def _raw(row: StepView) -> Iterator[Block]:
    yield Block(StreamText(row.raw or ""))


def _thinking(row: StepView) -> Iterator[Block]:
    yield Block(row.thinking)


def _artifacts(row: StepView) -> Iterator[Block]:
    yield Block(plural(len(row.call_ids), "outbound call") + "\n", Tone.TITLE)
    yield Block("\n".join(row.call_ids))


def _cancelled(view: RunView, row: StepView, event: Cancelled) -> Iterator[Block]:
    yield from receipt_facts(event.receipt, view.step_label(event.receipt.boundary))
    if row.text:
        yield Block("\npartial answer\n", Tone.TITLE)
        yield Block(row.text)


def _result(row: StepView) -> Iterator[Block]:
    match row.event:
        case Completed():
            yield from _completed(row.event)
        case Failed():
            yield Block(f"{row.event.error.code}\n", Tone.BAD)
            yield Block(f"{row.event.error.message}\n")
            yield from fact("why", row.event.termination_reason.value)
            if row.text:
                yield Block("\n\nlast answer\n", Tone.TITLE)
        case CancelRequested():
            yield from _requested(row.event)
        case _:
            if row.error is not None:
                yield Block(f"{row.error.code}: {row.error.message}\n\n", Tone.BAD)
    if row.live and row.remote:
        yield Block(
            "Another process drives this run: what it says comes when the step ends.", Tone.DIM
        )
    elif row.live:
        yield Block(row.output if row.kind is RowKind.TOOL else row.text)
    elif row.text:
        yield Block(row.text)


def _completed(event: Completed) -> Iterator[Block]:
    if event.truncated:
        yield Block(f"truncated: {event.termination_reason.value}\n\n", Tone.WARN)
    yield from fact("rounds", count(event.rounds))
    yield from fact("tool calls", count(event.tool_calls))
    usage = event.usage
    spent = f"{count(usage.input_tokens)} in, {count(usage.output_tokens)} out"
    yield from fact("tokens", spent)
    yield from fact("cost", cost(usage.cost_usd).removeprefix("cost "))
    if event.text:
        yield Block("\nanswer\n", Tone.TITLE)


def _requested(event: CancelRequested) -> Iterator[Block]:
    yield from fact("level", event.level.name.lower())
    yield from fact("by", event.by)
    if event.reason:
        yield from fact("reason", event.reason)
    left = ", ".join(f"{item.name} ({item.step})" for item in event.in_flight)
    yield from fact("in flight", left or "nothing")


_TABS: dict[Tab, Callable[[StepView], Iterator[Block]]] = {
    Tab.TOOLS: _tools,
    Tab.STRUCTURED: _structured,
    Tab.RAW: _raw,
    Tab.THINKING: _thinking,
    Tab.ARGUMENTS: _arguments,
    Tab.RESULT: _result,
    Tab.ARTIFACTS: _artifacts,
}


def pretty_json(text: str) -> str:
    """Return JSON indented; a text that is no JSON, or a huge one, as it is."""
    if len(text) > 100_000:
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
