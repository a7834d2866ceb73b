"""What a tool is, what it gets, and the gate between a model and the tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from core.clock import Clock, SystemClock
from core.errors import StepbrakeError, UsageError, did_you_mean
from core.model.messages import ToolSpec
from core.model.words import Effect
from core.text import clip, well_formed

if TYPE_CHECKING:
    from core.http import CancelSignal, VaultHttpClient
    from core.vault import Credential

DEADLINE_S = 120.0
RESULT_LIMIT = 256 * 1024


class ToolError(StepbrakeError):
    """A failure the model is told about; the run goes on.

    Attributes:
        code: a stable string, e.g. ``bad_arguments``.
    """

    title: ClassVar[str] = "Tool failed"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class LeftRunning(asyncio.CancelledError):
    """A tool was cancelled, but what it began goes on and its end will not be known.

    A cancellation like any other to whoever passes it on; the call's step ends as
    ``unknown`` instead of ``interrupted``.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a running tool may use.

    Attributes:
        signal: raised when the call has to stop.
        http: the audited client; its calls belong to this tool call's step.
        idempotency_key: the same for every try of this call, unique otherwise.
        credential_for: gives the credential that is bound to a URL's host, or None.
        emit: takes what ``output`` shows; called on the loop's thread.
        clock: the time the tool lives in.
        mask: takes known secrets out of a text, for a tool that is about to cut it: what it
            returns is masked anyway.
    """

    signal: CancelSignal
    http: VaultHttpClient
    idempotency_key: str
    credential_for: Callable[[str], Credential | None]
    emit: Callable[[str], None]
    clock: Clock = field(default_factory=SystemClock)
    mask: Callable[[str], str] = str

    def output(self, text: str) -> None:
        """Show ``text`` to whoever follows the run; the model does not get it."""
        self.emit(text)


class Tool(Protocol):
    """Something a model may call."""

    @property
    def name(self) -> str:
        """What the model calls it by."""

    @property
    def description(self) -> str:
        """What it does, for the model."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments, an object schema."""

    @property
    def effect(self) -> Effect:
        """What running it twice would do."""

    @property
    def deadline_s(self) -> float:
        """Seconds after which a call counts as lost."""

    @property
    def alone(self) -> bool:
        """Whether no other tool call of its turn may run beside it; an effect never does."""

    async def run(self, arguments: str, context: ToolContext) -> str:
        """Run it once.

        Args:
            arguments: the raw string the model wrote; it may not be JSON.
            context: what the call may use.

        Returns:
            What the model is told.

        Raises:
            ToolError: what the model is told instead.
            LeftRunning: the call was cancelled and cannot be ended.
        """


class ToolSet:
    """The tools of a runtime and which of them a run offers its model.

    Args:
        tools: every tool there is.
        offered: names of those on offer, in the order the model sees them.
        mask: takes secrets out of a result, before it is cut to its bound.

    Raises:
        UsageError: two tools share a name, or a name on offer is no tool's.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        offered: Sequence[str],
        mask: Callable[[str], str] = str,
    ) -> None:
        self._mask = mask
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise UsageError(
                    "Two tools have the same name",
                    where=tool.name,
                    hint="Give one of them another name: @tool(name=…).",
                )
            self._tools[tool.name] = tool
        for name in offered:
            if name not in self._tools:
                raise UsageError(
                    "There is no such tool", where=name, hint=did_you_mean(name, self._tools)
                )
        self._offered = tuple(dict.fromkeys(offered))

    @property
    def offered(self) -> tuple[str, ...]:
        """Return the names on offer, each once."""
        return self._offered

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools on offer as the model sees them."""
        return tuple(
            ToolSpec(tool.name, tool.description, tool.parameters)
            for tool in (self._tools[name] for name in self._offered)
        )

    def find(self, name: str) -> Tool:
        """Return the tool a model asked for.

        Raises:
            ToolError: ``unknown_tool`` or ``not_offered``.
        """
        if name in self._offered:
            return self._tools[name]
        names = ", ".join(self._offered) or "none"
        if name in self._tools:
            raise ToolError("not_offered", f"This tool is not on offer here; on offer: {names}")
        raise ToolError("unknown_tool", f"There is no such tool; on offer: {names}")

    async def run(self, name: str, arguments: str, context: ToolContext) -> str:
        """Run the tool a model asked for and return its result, bounded.

        Raises:
            ToolError: what the model is told instead.
        """
        return bound_result(self._mask(await self.find(name).run(arguments, context)))


def bound_result(text: str) -> str:
    """Return a result that can be stored and sent.

    A lone surrogate becomes U+FFFD. A result over 256 Ki characters keeps its head and
    says how much of it that is.
    """
    return clip_marked(well_formed(text), RESULT_LIMIT)


def clip_marked(text: str, limit: int) -> str:
    """Return ``text``, or its first ``limit`` characters and a line that gives the counts."""
    head = clip(text, limit)
    if head.kept == head.total:
        return text
    return f"{head.text}\n[clipped: {head.kept:,} of {head.total:,} characters kept]"
