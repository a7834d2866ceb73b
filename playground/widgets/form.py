"""The form: what to run, and with what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Button, Select, TextArea

from core.text import display
from playground.safe import SafeStatic, safe_option, safe_title
from playground.state.form import FormData, FormError, options_gist
from playground.widgets.cancel_button import CancelButton
from playground.widgets.options import Options, ToolChoice
from playground.widgets.prompt_area import PromptArea


class ModelChoice(Protocol):
    """A model entry, as ``Runtime.models`` returns it."""

    @property
    def name(self) -> str:
        """Return its name."""


class Form(Vertical):
    """Prompt, model, options, and the two buttons.

    Attributes:
        live: a run is live: the form says what it was asked, and takes no edits.
    """

    live: reactive[bool] = reactive(False, init=False)

    def __init__(self, models: Sequence[ModelChoice], tools: Sequence[ToolChoice]) -> None:
        super().__init__(id="form")
        self._models = models
        self._tools = tools
        self._asked = FormData(prompt="", model="")

    def compose(self) -> ComposeResult:
        """Lay out the form."""
        with Vertical(id="prompt-box"):
            yield PromptArea(id="prompt", placeholder="What should the agent do?")
        with Horizontal(id="controls"):
            yield Select(
                [(safe_option(entry.name), entry.name) for entry in self._models],
                value=self._models[0].name,
                allow_blank=False,
                compact=True,
                id="model",
            )
            yield Button("options ▾", id="options-button", compact=True)
            yield SafeStatic(id="form-note")
            yield Button("Run", id="run", compact=True, variant="primary")
            yield CancelButton()

    def on_mount(self) -> None:
        """Say what the options are."""
        self.watch_live(False)
        self._gist()

    def watch_live(self, live: bool) -> None:
        """Take no edits while a run is live."""
        self.prompt.read_only = live
        safe_title(
            self.query_one("#prompt-box"), "prompt", "" if live else "enter runs · ^j new line"
        )

    @property
    def prompt(self) -> PromptArea:
        """Return the prompt's field."""
        return self.query_one(PromptArea)

    @property
    def options(self) -> Options | None:
        """Return the options, None as long as nobody wanted them."""
        return next(iter(self.query(Options)), None)

    @property
    def data(self) -> FormData:
        """Return the fields as they are."""
        model = str(self.query_one("#model", Select).value)
        form = replace(self._asked, prompt=self.prompt.text, model=model)
        return form if self.options is None else self.options.fill(form)

    def show(self, form: FormData) -> None:
        """Show what a run that was found in a list was asked: Enter would ask it again."""
        self._asked = form
        self.prompt.text = display(form.prompt)
        names = [entry.name for entry in self._models]
        if form.model not in names:
            names.append(form.model)  # the core says so if it is not to be had here
        model = self.query_one("#model", Select)
        model.set_options([(safe_option(name), name) for name in names])
        model.value = form.model
        if self.options is not None:
            self.options.show(form)
        self._gist()

    def complain(self, error: FormError) -> None:
        """Say what is wrong with a field, and go there."""
        self.note(error.hint if error.field == "prompt" else str(error), bad=True)
        if error.field not in {"prompt", "model"}:
            self.screen.add_class("-options")
        self.query_one(f"#{error.field}", Widget).focus()

    def note(self, text: str, *, bad: bool = False) -> None:
        """Say something beside the buttons."""
        note = self.query_one("#form-note", SafeStatic)
        self.set_class(bad, "-bad")
        note.show(text)

    async def open_options(self, shown: bool) -> None:
        """Show or hide the options."""
        if shown and self.options is None:
            await self.mount(Options(self._tools, self._asked))
        self.screen.set_class(shown, "-options")
        if shown:
            self.query_one("#tools").focus()
        else:
            self.prompt.focus()

    @on(Options.Left)
    async def _close(self) -> None:
        await self.open_options(False)

    @on(Options.Changed)
    @on(Select.Changed, "#model")
    @on(TextArea.Changed, "#prompt")
    def _gist(self) -> None:
        self.note(options_gist(self.data, sum(tool.default for tool in self._tools)))
