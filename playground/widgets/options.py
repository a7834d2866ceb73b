"""The rest of the form: out of the way, and not even made, until it is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Protocol

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Label, Select, SelectionList, TextArea
from textual.widgets.selection_list import Selection

from core.text import display
from playground.safe import SafeStatic, safe_text
from playground.state.form import FormData
from playground.widgets.ticks import Tick, TickList


class ToolChoice(Protocol):
    """A tool, as ``Runtime.tools`` returns it."""

    @property
    def name(self) -> str:
        """Return its name."""

    @property
    def effect(self) -> str:
        """Return ``pure``, ``idempotent`` or ``unsafe``."""

    @property
    def default(self) -> bool:
        """Return whether it is on offer where a request names no tools."""


class Options(VerticalScroll):
    """Tools, system prompt, bounds, thinking, dry run, raw capture."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]

    class Left(Message):
        """Escape was pressed."""

    class Changed(Message):
        """A field changed."""

    def __init__(self, tools: Sequence[ToolChoice], form: FormData) -> None:
        super().__init__(id="options", can_focus=False)
        self._tools = tools
        self._form = form
        self._listed: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        """Lay out the panel."""
        with Horizontal(id="options-columns"):
            with Vertical(id="options-tools"):
                yield Label("tools", classes="field-name")
                yield TickList(id="tools", compact=True)
            with Vertical(id="options-fields"):
                system = TextArea(id="system", compact=True, highlight_cursor_line=False)
                yield from _field("system prompt", system)
                yield from _field("max rounds", _number("max-rounds", "10"))
                yield from _field("max tokens", _number("max-tokens", "no bound of ours"))
                yield from _field("temperature", _number("temperature", "the model's default"))
                yield from _field(
                    "thinking",
                    Select(
                        [(word, word) for word in ("default", "on", "off")],
                        value="default",
                        allow_blank=False,
                        compact=True,
                        id="thinking",
                    ),
                )
                with Horizontal(classes="field"):
                    yield Label("", classes="field-name")
                    yield Tick("dry run", id="dry-run", compact=True)
                    yield Tick("capture raw bodies", id="raw", compact=True)

    def on_mount(self) -> None:
        """Show the form as it is."""
        self.show(self._form)

    def show(self, form: FormData) -> None:
        """Show the fields of a form that are here."""
        default = [tool.name for tool in self._tools if tool.default]
        chosen = default if form.tools is None else form.tools
        known = {tool.name: tool.effect for tool in self._tools}
        effects = known | {name: "not here" for name in chosen if name not in known}
        self._listed = tuple(effects)
        tools = self.query_one(TickList)
        tools.clear_options()
        tools.add_options(
            Selection(safe_text(name, (f"  {effect}", "dim")), name, name in chosen)
            for name, effect in effects.items()
        )
        tools.action_first()
        self.query_one("#system", TextArea).text = display(form.system)
        for field in ("max-rounds", "max-tokens", "temperature"):
            value = getattr(form, field.replace("-", "_"))
            self.query_one(f"#{field}", Input).value = display(value)
        self.query_one("#thinking", Select).value = form.thinking
        self.query_one("#dry-run", Tick).value = form.dry_run
        self.query_one("#raw", Tick).value = form.raw

    def fill(self, form: FormData) -> FormData:
        """Return the form's data with these fields as they are."""
        picked = self.query_one(TickList).selected
        chosen = tuple(name for name in self._listed if name in picked)
        default = tuple(tool.name for tool in self._tools if tool.default)
        return replace(
            form,
            tools=None if chosen == default else chosen,
            system=self.query_one("#system", TextArea).text,
            max_rounds=self._typed("max-rounds"),
            max_tokens=self._typed("max-tokens"),
            temperature=self._typed("temperature"),
            thinking=str(self.query_one("#thinking", Select).value),
            dry_run=self.query_one("#dry-run", Tick).value,
            raw=self.query_one("#raw", Tick).value,
        )

    def _typed(self, field: str) -> str:
        return self.query_one(f"#{field}", Input).value.strip()

    @on(Input.Changed)
    @on(Select.Changed)
    @on(Checkbox.Changed)
    @on(SelectionList.SelectedChanged)
    @on(TextArea.Changed)
    def _edited(self) -> None:
        self.post_message(self.Changed())

    def action_leave(self) -> None:
        """Close the panel."""
        self.post_message(self.Left())


def _field(name: str, widget: Widget) -> ComposeResult:
    with Horizontal(classes="field"):
        yield SafeStatic(name, classes="field-name")
        yield widget


def _number(field: str, placeholder: str) -> Input:
    return Input(id=field, placeholder=placeholder, compact=True)
