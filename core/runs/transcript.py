"""A stored run's transcript, valid for every provider: each tool call has its result."""

from __future__ import annotations

from collections.abc import Iterable

from core.model.events import Assembled, Event, Response, Tool
from core.model.messages import Message
from core.model.words import StepOutcome
from core.runs.replies import NOT_EXECUTED


def transcript_of(events: Iterable[Event]) -> tuple[Message, ...]:
    """Return the messages of a run, oldest first.

    Attempts that failed leave nothing. A partial answer stands as far as it came, without
    its tool calls. A call without a result gets "not executed: the run was cancelled".
    """
    messages: list[Message] = []
    # Some servers give every turn's calls the same ids.
    results: dict[tuple[int, str], str] = {}
    answers: list[Response] = []
    for event in events:
        match event:
            case Assembled():
                messages.extend(event.messages)
            case Response(outcome=StepOutcome.OK):
                answers.append(event)
            case Response(outcome=StepOutcome.INTERRUPTED) if event.text:
                answers.append(event)
            case Tool():
                results[event.round, event.tool_call_id] = event.result
    for answer in answers:
        whole = answer.outcome is StepOutcome.OK
        calls = answer.tool_calls if whole else ()
        messages.append(Message("assistant", answer.text, tool_calls=calls))
        messages.extend(
            Message(
                "tool",
                results.get((answer.round, call.id), NOT_EXECUTED),
                tool_call_id=call.id,
            )
            for call in calls
        )
    return tuple(messages)
