"""What starts a run, what it is in the store and what comes out of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from core.model.events import StepError, iso_time
from core.model.receipts import InFlight, Receipt
from core.model.usage import Usage
from core.model.words import CancelLevel, Outcome, RunStatus, TerminationReason


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a person or a program asks for.

    Attributes:
        prompt: what to do; not empty.
        model: a model entry's name; ``demo/<scene>`` picks a scene of the demo.
        tools: names of the tools on offer; None: every built-in tool of effect pure.
        system: a system prompt, or None.
        max_rounds: most rounds, then one closing answer without tools.
        max_tokens: bound of one response, or None.
        max_total_tokens: bound of the whole run, or None.
        max_tool_calls: bound of the whole run, or None.
        temperature: 0 to 2, or None.
        thinking: ask for thinking, forbid it, or None for the model's default.
        after: a run whose transcript this one continues, or None.
        dry_run: end after the prompt is assembled; nothing is sent.
        raw: keep each response's body.
    """

    prompt: str
    model: str = "demo"
    tools: tuple[str, ...] | None = None
    system: str | None = None
    max_rounds: int = 10
    max_tokens: int | None = None
    max_total_tokens: int | None = None
    max_tool_calls: int | None = None
    temperature: float | None = None
    thinking: bool | None = None
    after: str | None = None
    dry_run: bool = False
    raw: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON."""
        return {**asdict(self), "tools": None if self.tools is None else list(self.tools)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as the store has it.

    Attributes:
        run_id: the run.
        status: where it is; ``cancelled`` with ``closed_us`` None is shown as cancelling.
        termination_reason: why it ended, None before.
        model: the model entry's name.
        prompt: the prompt's first 200 characters.
        created_us: UTC microseconds.
        updated_us: UTC microseconds of the last change.
        closed_us: UTC microseconds, None while its owner may still append.
        owner: the process that drives it, None if nobody does.
        claim: the fencing number.
        next_seq: the seq its next event gets.
        round: the round it is in.
        tool_calls: tool calls executed so far.
        usage: spent so far.
        open_steps: intents without an outcome.
        cancel_us, cancel_by, cancel_reason, level, cancel_seq: the cancel, if any;
            ``cancel_seq`` is the seq of its first event.
    """

    run_id: str
    status: RunStatus
    termination_reason: TerminationReason | None
    model: str
    prompt: str
    created_us: int
    updated_us: int
    closed_us: int | None
    owner: str | None
    claim: int
    next_seq: int
    round: int
    tool_calls: int
    usage: Usage
    open_steps: tuple[InFlight, ...] = ()
    cancel_us: int | None = None
    cancel_by: str = ""
    cancel_reason: str = ""
    level: CancelLevel | None = None
    cancel_seq: int | None = None

    @property
    def cancelling(self) -> bool:
        """True from the acknowledged cancel until the run is closed."""
        return self.status is RunStatus.CANCELLED and self.closed_us is None

    @property
    def state(self) -> str:
        """Return the status as a person is shown it: ``cancelling`` until it is closed."""
        return "cancelling" if self.cancelling else self.status.value

    def to_json(self) -> dict[str, Any]:
        """Return the row as ``runs list --json`` prints it."""
        from core.model.codec import usage_json

        return {
            "run_id": self.run_id,
            "status": self.status.value,
            "cancelling": self.cancelling,
            "termination_reason": self.termination_reason and self.termination_reason.value,
            "model": self.model,
            "created_at": iso_time(self.created_us),
            "usage": usage_json(self.usage),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run ended, for whoever waited. Never an exception.

    Attributes:
        run_id: the run.
        outcome: how the segment ended.
        status: where the run is.
        termination_reason: why it ended, None if it has not.
        text: the answer, whole or partial.
        usage: what it spent.
        receipt: what the cancel did, None if nobody cancelled.
        error: why it failed; None for a cancelled run.
        recorded: False if the store could not take the answer.
    """

    run_id: str
    outcome: Outcome
    status: RunStatus
    termination_reason: TerminationReason | None
    text: str
    usage: Usage
    receipt: Receipt | None = None
    error: StepError | None = None
    recorded: bool = True
