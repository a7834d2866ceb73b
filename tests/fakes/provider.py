"""A model that a test plays by hand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.errors import ProviderError
from core.http import CancelSignal
from core.model import ModelRequest, ModelResponse, StepOutcome, ToolCall, Usage
from core.providers.base import ModelReply, OnDelta, StreamingClient


@dataclass
class Turn:
    """One scripted answer.

    Attributes:
        text: the answer.
        pieces: what streams before it; by default the text in one piece.
        thinking: streams before the text.
        calls: tool calls as (name, arguments).
        error: the call fails with this instead.
        hold: the call waits here, after its pieces, until ``release`` is called or its
            signal is raised.
        usage: what it costs.
        finish: the finish reason, by default what the calls say.
    """

    text: str = ""
    pieces: Sequence[str] = ()
    thinking: str = ""
    calls: Sequence[tuple[str, str]] = ()
    error: ProviderError | None = None
    hold: bool = False
    usage: Usage = field(default_factory=lambda: Usage(1, 100, 20))
    finish: str = ""


class ScriptedProvider:
    """A ``Provider`` that answers from a list; the last turn repeats if ``loop``.

    Attributes:
        requests: what it was asked, in order.
        holding: set while a call waits.
    """

    name = "scripted"

    def __init__(self, turns: Sequence[Turn], *, loop: bool = False) -> None:
        self._turns = deque(turns)
        self._loop = loop
        self._release = asyncio.Event()
        self._calls = 0
        self.requests: list[ModelRequest] = []
        self.holding = asyncio.Event()

    def release(self) -> None:
        """Let the call that waits, and the next one that would, go on."""
        self._release.set()

    async def respond(
        self,
        request: ModelRequest,
        *,
        http: StreamingClient,
        signal: CancelSignal,
        on_delta: OnDelta,
    ) -> ModelReply:
        self.requests.append(request)
        last = len(self._turns) == 1 and self._loop
        turn = self._turns[0] if last else self._turns.popleft()
        if turn.thinking:
            on_delta("thinking", turn.thinking)
        said = ""
        for piece in turn.pieces or ([turn.text] if turn.text else []):
            said += piece
            on_delta("text", piece)
        if turn.hold and not await self._held(signal):
            partial = ModelResponse(
                text=said, thinking=turn.thinking, usage=Usage(1, 100, len(said) // 4, None, True)
            )
            return ModelReply(partial, StepOutcome.INTERRUPTED)
        if turn.error is not None:
            return ModelReply(
                ModelResponse(text=said, usage=Usage(requests=1)), StepOutcome.ERROR, turn.error
            )
        return ModelReply(
            ModelResponse(
                text=turn.text,
                thinking=turn.thinking,
                tool_calls=tuple(self._call(name, arguments) for name, arguments in turn.calls),
                usage=turn.usage,
                finish_reason=turn.finish or ("tool_calls" if turn.calls else "stop"),
            ),
            StepOutcome.OK,
        )

    def _call(self, name: str, arguments: str) -> ToolCall:
        self._calls += 1
        return ToolCall(f"call_{self._calls}", name, arguments)

    async def _held(self, signal: CancelSignal) -> bool:
        """Wait; return False if the signal was raised first."""
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.call_soon_threadsafe(stopped.set)

        unsubscribe = signal.subscribe(stop)
        self.holding.set()
        waits = [asyncio.ensure_future(self._release.wait()), asyncio.ensure_future(stopped.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            unsubscribe()
            self.holding.clear()
        self._release.clear()
        return not signal.is_set()
