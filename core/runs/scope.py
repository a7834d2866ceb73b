"""What the body of a step gets from the runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from core.clock import Clock
from core.http import CallContext, CancelSignal
from core.model.events import Delta, Event, Output
from core.model.messages import ModelResponse
from core.model.usage import Usage
from core.providers.base import DeltaKind
from core.text import KnownSecrets, MaskedStream


@dataclass(slots=True)
class Scope:
    """What a step's body gets; ``core.agent.StepScope`` names it.

    What it streams is masked; what may yet turn out to be a secret waits for the next piece
    or for ``flush``.

    Attributes:
        step: the step's id.
        round: its round.
        name: the model entry or the tool.
        signal: ends the body at once.
        context: collects the body's outbound calls.
        key: the step's idempotency key.
        known: secrets that no follower may see.
    """

    step: str
    round: int
    name: str
    signal: CancelSignal
    context: CallContext
    key: str
    started: float
    publish: Callable[[Event], None]
    clock: Clock
    known: KnownSecrets
    _text: int = 0
    _thinking: int = 0
    _output: int = 0
    _said: dict[DeltaKind, list[str]] = field(default_factory=lambda: {"text": [], "thinking": []})

    _streams: dict[str, MaskedStream] = field(default_factory=dict)

    def delta(self, kind: DeltaKind, text: str) -> None:
        """Publish a piece of a streaming answer."""
        self._say(kind, self._stream(kind).feed(text))

    def output(self, text: str) -> None:
        """Publish a piece of what a tool prints."""
        self._print(self._stream("output").feed(text))

    def flush(self) -> None:
        """Publish what waits: the step has ended."""
        self._say("thinking", self._stream("thinking").flush())
        self._say("text", self._stream("text").flush())
        self._print(self._stream("output").flush())

    def _stream(self, kind: Literal["text", "thinking", "output"]) -> MaskedStream:
        if kind not in self._streams:
            self._streams[kind] = self.known.stream()
        return self._streams[kind]

    def _say(self, kind: DeltaKind, text: str) -> None:
        if not text:
            return
        thinking = kind == "thinking"
        offset = self._thinking if thinking else self._text
        self.publish(
            Delta(
                run_id=self.context.run_id or "",
                at_us=self.clock.now_us(),
                round=self.round,
                step=self.step,
                name=self.name,
                offset=offset,
                text="" if thinking else text,
                thinking=text if thinking else "",
            )
        )
        self._said[kind].append(text)
        if thinking:
            self._thinking += len(text)
        else:
            self._text += len(text)

    def _print(self, text: str) -> None:
        if not text:
            return
        self.publish(
            Output(
                run_id=self.context.run_id or "",
                at_us=self.clock.now_us(),
                round=self.round,
                step=self.step,
                name=self.name,
                offset=self._output,
                text=text,
            )
        )
        self._output += len(text)

    @property
    def said(self) -> ModelResponse:
        """Return what a model call that gave no reply of its own had said by now."""
        begun = bool(self.context.started or self._text or self._thinking)
        return ModelResponse(
            text="".join(self._said["text"]),
            thinking="".join(self._said["thinking"]),
            usage=Usage(requests=1, estimated=True) if begun else Usage(),
        )

    @property
    def call_ids(self) -> tuple[str, ...]:
        """Return the ids of the calls begun so far."""
        return tuple(self.context.started)

    @property
    def elapsed_ms(self) -> float:
        """Return milliseconds since the step began."""
        return round((self.clock.monotonic() - self.started) * 1000, 3)
