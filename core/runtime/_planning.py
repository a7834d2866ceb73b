"""From a request to a plan: everything is checked before anything is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from core.agent import Limits, Plan
from core.clock import Clock
from core.errors import RequestRefused, UnknownRun, UsageError
from core.http import CallContext, CancelSignal, VaultHttpClient, parse_url
from core.ids import Ids
from core.model.messages import Message
from core.model.runs import RunRequest
from core.model.words import Effect
from core.runs import stored_events, transcript_of
from core.runtime._audit import AuditView
from core.runtime._demo import Demo
from core.runtime._models import ModelDirectory
from core.store.protocol import Store
from core.text import KnownSecrets
from core.tools.base import Tool, ToolContext, ToolSet
from core.vault import Credential, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a runtime is made of; ``core.runtime._open`` puts it together.

    ``tools`` are all there are, those of ``builtin`` among them.
    """

    store: Store
    clock: Clock
    ids: Ids
    vault: Vault
    demo: Demo
    models: ModelDirectory
    builtin: tuple[Tool, ...]
    tools: tuple[Tool, ...]
    http: VaultHttpClient
    audit: AuditView
    known: KnownSecrets
    notices: tuple[str, ...]

    @property
    def default_tools(self) -> tuple[str, ...]:
        """Return the names of the tools on offer where a request names none."""
        return tuple(tool.name for tool in self.builtin if tool.effect is Effect.PURE)


async def plan_of(request: RunRequest, parts: Parts) -> Plan:
    """Return what a run of ``request`` works with.

    Raises:
        UsageError: the model, a tool, a bound or the prompt is not usable.
        UnknownRun: ``request.after`` names no run.
    """
    check_request(request)
    offered = parts.default_tools if request.tools is None else request.tools
    tools = ToolSet(parts.tools, offered, parts.known.mask)
    messages = tuple(
        replace(message, content=parts.known.mask(message.content))
        for message in await _messages(request, parts.store)
    )
    reach = await parts.models.reach(request.model)
    bound = await parts.models.bound_credentials()
    http = parts.http
    if parts.demo.running:
        http = http.with_run_id_to((await parts.demo.address()).host)
    client = http.with_allow(reach.allow).with_credential(reach.credential)

    def credential_for(url: str) -> Credential | None:
        return next((item for item in bound if _admits(item, url)), None)

    def tool_context(
        context: CallContext, signal: CancelSignal, key: str, emit: Callable[[str], None]
    ) -> ToolContext:
        return ToolContext(
            signal=signal,
            http=http.with_context(context),
            idempotency_key=key,
            credential_for=credential_for,
            emit=emit,
            clock=parts.clock,
            mask=parts.known.mask,
        )

    return Plan(
        messages=messages,
        name=reach.name,
        model=reach.model,
        provider=reach.provider,
        connect=client.with_context,
        tools=tools,
        tool_context=tool_context,
        limits=Limits(
            max_rounds=request.max_rounds,
            max_tokens=request.max_tokens,
            max_total_tokens=request.max_total_tokens,
            max_tool_calls=request.max_tool_calls,
        ),
        temperature=request.temperature,
        thinking=request.thinking,
        raw=request.raw,
        dry_run=request.dry_run,
    )


def masked_request(request: RunRequest, known: KnownSecrets) -> RunRequest:
    """Return ``request`` as it is stored, and as the model gets it: without known secrets."""
    system = request.system
    return replace(
        request,
        prompt=known.mask(request.prompt),
        system=None if system is None else known.mask(system),
    )


async def _messages(request: RunRequest, store: Store) -> tuple[Message, ...]:
    before: tuple[Message, ...] = ()
    if request.after is not None:
        row = await store.get_run(request.after)
        if row is None:
            raise UnknownRun(request.after)
        if row.closed_us is None:
            raise UsageError(
                "The run to continue has not ended",
                where=request.after,
                hint="Wait for it, or cancel it.",
            )
        before = transcript_of(await stored_events(store, request.after))
    if request.system is not None:
        before = tuple(message for message in before if message.role != "system")
        before = (Message("system", request.system), *before)
    return (*before, Message("user", request.prompt))


def _admits(credential: Credential, url: str) -> bool:
    try:
        parse_url(url, credential.hosts)
    except RequestRefused:
        return False
    return True


def check_request(request: RunRequest) -> None:
    """Refuse a request that cannot be run.

    Raises:
        UsageError: the prompt is empty, or a bound is out of range.
    """
    if not request.prompt.strip():
        raise UsageError("The prompt is empty", where="prompt", hint="Say what to do.")
    bounds = {
        "max_rounds": request.max_rounds,
        "max_tokens": request.max_tokens,
        "max_total_tokens": request.max_total_tokens,
        "max_tool_calls": request.max_tool_calls,
    }
    for name, value in bounds.items():
        if value is not None and value < 1:
            raise UsageError("The bound is below 1", where=name)
    if request.temperature is not None and not 0 <= request.temperature <= 2:
        raise UsageError("The temperature lies outside 0 to 2", where="temperature")
