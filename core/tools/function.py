"""Typed Python functions as tools."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast, get_type_hints

from core.errors import UsageError, did_you_mean
from core.model.words import Effect
from core.tools._docstring import parse_docstring
from core.tools._threads import in_thread
from core.tools.base import DEADLINE_S, ToolContext, ToolError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SHOWN = 5
_EFFECTS = tuple(effect.value for effect in Effect)

EffectName = Literal["pure", "idempotent", "unsafe"]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTool:
    """A function that a model may call; made by ``tool``.

    A function without ``async`` runs in a thread of its own.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Effect
    deadline_s: float
    alone: bool
    function: Function
    arguments: type[BaseModel]
    context_name: str | None

    async def run(self, arguments: str, context: ToolContext) -> str:
        """Check the arguments, run the function and return its result as text.

        Text stays as it is; anything else becomes JSON.

        Raises:
            ToolError: ``bad_arguments``, ``bad_result`` or what the function raised.
            Exception: anything else the function raised.
        """
        values = self._parse(arguments)
        if inspect.iscoroutinefunction(self.function):
            result = await cast(Awaitable[Any], self._call(values, context))
        else:
            call = partial(self._call, values, _from_thread(context))
            result = await in_thread(call, name=f"tool-{self.name}")
        return _as_text(result)

    def _parse(self, arguments: str) -> dict[str, Any]:
        from pydantic import ValidationError

        try:
            # Some models write nothing where they mean no arguments.
            parsed = self.arguments.model_validate_json(arguments.strip() or "{}")
        except ValidationError as error:
            raise ToolError("bad_arguments", _complaint(error)) from None
        return {
            field.alias or name: getattr(parsed, name)
            for name, field in type(parsed).model_fields.items()
        }

    def _call(self, values: dict[str, Any], context: ToolContext) -> Any:
        if self.context_name is not None:
            values = {**values, self.context_name: context}
        return self.function(**values)


def tool(
    *,
    effect: EffectName,
    deadline: float = DEADLINE_S,
    alone: bool = False,
    name: str | None = None,
) -> Callable[[Function], FunctionTool]:
    """Turn a typed function into a tool.

    The function's name, docstring and annotations are what the model sees; its ``Args:``
    section describes the parameters. A parameter annotated ``ToolContext`` is filled in
    and stays hidden.

    Args:
        effect: ``pure``: running it changes nothing; ``idempotent``: running it twice
            does what running it once does; ``unsafe``: anything else.
        deadline: seconds after which a call counts as lost.
        alone: run no other tool call of the same turn beside it. Anything but ``pure``
            always runs alone.
        name: what the model calls it by; None: the function's name.

    Raises:
        UsageError: the function cannot be a tool (when decorating).
    """

    def decorate(function: Function) -> FunctionTool:
        wanted = function.__name__ if name is None else name
        if effect not in _EFFECTS:
            raise UsageError(
                "There is no such effect", where=wanted, hint=did_you_mean(effect, _EFFECTS)
            )
        return _build(function, Effect(effect), deadline, wanted, alone=alone)

    return decorate


def _build(
    function: Function, effect: Effect, deadline: float, name: str, *, alone: bool
) -> FunctionTool:
    if not _NAME.fullmatch(name):
        raise UsageError("A tool's name has 1 to 64 letters, digits, '_' or '-'", where=repr(name))
    if not deadline > 0:
        raise UsageError("A tool's deadline is a number of seconds above 0", where=name)
    description, about = parse_docstring(function.__doc__)
    hints = _hints(function, name)
    context_name: str | None = None
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if hints.get(parameter.name) is ToolContext:
            context_name = parameter.name
        else:
            # An alias carries the real name: pydantic reserves some, ``json`` or ``_x``.
            fields[f"argument_{len(fields)}"] = _field(parameter, hints, about, where=name)
    arguments = _model(name, fields)
    return FunctionTool(
        name=name,
        description=description,
        parameters=_schema(arguments),
        effect=effect,
        deadline_s=deadline,
        alone=alone,
        function=function,
        arguments=arguments,
        context_name=context_name,
    )


def _hints(function: Function, name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"An annotation names what the function's module does not have: {error.name}",
            where=name,
            hint="Import it outside of TYPE_CHECKING and define it at module level.",
        ) from None


def _field(
    parameter: inspect.Parameter, hints: Mapping[str, Any], about: Mapping[str, str], *, where: str
) -> tuple[Any, Any]:
    from pydantic import Field

    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise UsageError(
            "A tool's parameters have names: no '*', '**' or '/'",
            where=f"{where}({parameter.name})",
        )
    if parameter.name not in hints:
        raise UsageError(
            "Every parameter of a tool needs a type", where=f"{where}({parameter.name})"
        )
    required = parameter.default is parameter.empty
    return hints[parameter.name], Field(
        default=... if required else parameter.default,
        alias=parameter.name,
        description=about.get(parameter.name),
    )


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    from pydantic import ConfigDict, PydanticUserError, create_model

    config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)
    try:
        model: type[BaseModel] = create_model(name, __config__=config, **fields)
        model.model_json_schema()
    except PydanticUserError as error:
        raise UsageError(
            f"A parameter cannot be described to a model: {str(error).splitlines()[0]}",
            where=name,
        ) from None
    return model


def _schema(arguments: type[BaseModel]) -> Mapping[str, Any]:
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    for described in schema.get("properties", {}).values():
        described.pop("title", None)
    return {"properties": {}, **schema}


def _complaint(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = []
    for problem in problems[:_SHOWN]:
        where = ".".join(str(part) for part in problem["loc"])
        lines.append(f"{where}: {problem['msg']}" if where else problem["msg"])
    if len(problems) > _SHOWN:
        lines.append(f"{len(problems) - _SHOWN} more")
    return f"The arguments do not fit: {'; '.join(lines)}"


def _from_thread(context: ToolContext) -> ToolContext:
    loop = asyncio.get_running_loop()

    def emit(text: str) -> None:
        with suppress(RuntimeError):  # The loop is gone: nobody follows.
            loop.call_soon_threadsafe(context.emit, text)

    return replace(context, emit=emit)


def _as_text(result: object) -> str:
    if isinstance(result, str):
        return result
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(result, serialize_unknown=False).decode()
    except (PydanticSerializationError, UnicodeError, ValueError):
        raise ToolError(
            "bad_result", f"The tool returned something that is no JSON: {type(result).__name__}"
        ) from None
