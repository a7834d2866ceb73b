"""The form as text, and the request it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.model import RunRequest


class FormError(ValueError):
    """A field holds what cannot be run.

    Attributes:
        field: the field's name, which is also its widget's id.
        hint: what it should hold.
    """

    def __init__(self, field: str, hint: str) -> None:
        super().__init__(f"{field}: {hint}")
        self.field = field
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class FormData:
    """The form's fields, as they were typed.

    Attributes:
        tools: names of the chosen tools, None for the default: every pure built-in.
        thinking: ``default``, ``on`` or ``off``.
    """

    prompt: str
    model: str
    tools: tuple[str, ...] | None = None
    system: str = ""
    max_rounds: str = ""
    max_tokens: str = ""
    temperature: str = ""
    thinking: str = "default"
    dry_run: bool = False
    raw: bool = False


def build_request(form: FormData) -> RunRequest:
    """Return the request.

    Raises:
        FormError: a field cannot be used; the first one is named.
    """
    if not form.prompt.strip():
        raise FormError("prompt", "write a prompt first")
    if not form.model:
        raise FormError("model", "choose a model")
    rounds = _number("max-rounds", form.max_rounds)
    request = RunRequest(
        prompt=form.prompt,
        model=form.model,
        tools=form.tools,
        system=form.system.strip() or None,
        max_tokens=_number("max-tokens", form.max_tokens),
        temperature=_temperature(form.temperature),
        thinking={"on": True, "off": False}.get(form.thinking),
        dry_run=form.dry_run,
        raw=form.raw,
    )
    return request if rounds is None else replace(request, max_rounds=rounds)


def form_of(request: Mapping[str, Any]) -> FormData:
    """Return the form that asks for what a run was asked, its ``RunRequest`` as JSON."""

    def text(name: str) -> str:
        value = request.get(name)
        return "" if value is None else str(value)

    tools = request.get("tools")
    thinking: dict[Any, str] = {True: "on", False: "off"}
    usual = str(RunRequest(prompt="").max_rounds)
    return FormData(
        prompt=text("prompt"),
        model=text("model"),
        tools=None if tools is None else tuple(map(str, tools)),
        system=text("system"),
        max_rounds="" if text("max_rounds") == usual else text("max_rounds"),
        max_tokens=text("max_tokens"),
        temperature=text("temperature"),
        thinking=thinking.get(request.get("thinking"), "default"),
        dry_run=request.get("dry_run") is True,
        raw=request.get("raw") is True,
    )


def options_gist(form: FormData, offered: int) -> str:
    """Return what differs from the defaults, in a few words."""
    chosen = offered if form.tools is None else len(form.tools)
    parts = [f"{chosen} tool{'' if chosen == 1 else 's'}"]
    parts += [
        f"{word} {value}"
        for word, value in (
            ("rounds", form.max_rounds),
            ("tokens", form.max_tokens),
            ("temp", form.temperature),
        )
        if value
    ]
    if form.thinking != "default":
        parts.append(f"thinking {form.thinking}")
    parts += [
        word
        for word, on in (("system", form.system), ("dry run", form.dry_run), ("raw", form.raw))
        if on
    ]
    return " · ".join(parts)


def _number(field: str, text: str) -> int | None:
    if not text.strip():
        return None
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise FormError(field, "a whole number from 1")
    return value


def _temperature(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        raise FormError("temperature", "a number from 0 to 2")
    return value
