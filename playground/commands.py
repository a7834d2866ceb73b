"""Every action of the app: what it is called, its keys, what it does.

Bindings, the command palette and the help screen are made from this table.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding, BindingType


@dataclass(frozen=True, slots=True)
class Command:
    """One action.

    Attributes:
        id: stable name; a key map refers to it.
        title: what the palette calls it.
        keys: its keys, the one shown in the footer first.
        action: Textual's name of the action.
        help: one sentence.
        label: what the footer calls it; empty: it is not in the footer.
        show: the key as the footer writes it, where that differs.
        priority: it comes before what the focused widget does with the key.
        palette: whether the palette offers it.
    """

    id: str
    title: str
    keys: str
    action: str
    help: str
    label: str = ""
    show: str | None = None
    priority: bool = False
    palette: bool = True

    def binding(self) -> BindingType:
        """Return it as a key binding."""
        return Binding(
            self.keys,
            self.action,
            self.label or self.title,
            show=bool(self.label),
            key_display=self.show,
            priority=self.priority,
            id=self.id,
        )


APP = (
    Command(
        "app.cancel",
        "Cancel the run",
        "f8",
        "cancel",
        "Stop at the next step boundary. Press again once it says so: abort the call in flight.",
        label="Cancel",
        priority=True,
    ),
    Command(
        "app.interrupt",
        "Copy, or cancel",
        "ctrl+c",
        "interrupt",
        "Copies if text is selected, else the same as F8.",
        priority=True,
        palette=False,
    ),
    Command(
        "app.escape",
        "Cancel the run",
        "escape",
        "cancel",
        "The same as F8; in a dialog, a list of choices or a field it only closes or leaves.",
        palette=False,
    ),
    Command("app.run", "Run screen", "f2", "go('run')", "Prompt, steps and inspector."),
    Command("app.audit", "Audit screen", "f3", "go('audit')", "Every outbound call."),
    Command("app.runs", "Runs", "f4", "go('runs')", "All runs of this database."),
    Command("app.help", "Help", "f1", "help", "Every key, on one page.", "Help"),
    # Priority, because a key that follows at once must find the focus moved.
    Command(
        "app.next",
        "Next field",
        "tab",
        "field(1)",
        "Fields, buttons and panes in turn.",
        priority=True,
        palette=False,
    ),
    Command(
        "app.previous",
        "Previous field",
        "shift+tab",
        "field(-1)",
        "The same, the other way round.",
        priority=True,
        palette=False,
    ),
    Command(
        "app.palette",
        "Command palette",
        "ctrl+p",
        "command_palette",
        "Find an action by its name.",
        "Commands",
        show="^p",
        priority=True,
        palette=False,
    ),
    Command(
        "app.quit",
        "Quit",
        "ctrl+q",
        "quit",
        "Leave; with live runs it asks first.",
        "Quit",
        show="^q",
        priority=True,
    ),
)

RUN = (
    Command(
        "run.start",
        "Run the prompt",
        "f5,ctrl+enter",
        "start",
        "Start a run. Enter in the prompt does the same.",
        label="Run",
    ),
    Command(
        "run.new",
        "New prompt",
        "ctrl+n",
        "new",
        "Go back to the prompt. A live run goes on and stays in the list of runs.",
        label="New",
        show="^n",
    ),
    Command(
        "run.options",
        "Run options",
        "ctrl+o",
        "options",
        "Tools, system prompt, bounds, thinking, dry run, raw capture.",
        label="Options",
        show="^o",
        priority=True,
    ),
    Command("run.prev_tab", "Previous tab", "left_square_bracket", "tab(-1)", "In the inspector."),
    Command("run.next_tab", "Next tab", "right_square_bracket", "tab(1)", "In the inspector."),
    Command(
        "run.zoom",
        "Zoom the inspector",
        "z",
        "zoom",
        "The inspector alone, and back.",
    ),
    Command(
        "run.audit",
        "Audit pane",
        "a,ctrl+t",
        "audit_pane",
        "Show or hide the audit log beside the run.",
        label="Audit pane",
    ),
    Command("run.copy", "Copy the inspector's text", "y", "copy", "The whole text of the tab."),
)

PROMPT = (
    ("enter", "run the prompt"),
    ("ctrl+j, shift+enter, alt+enter", "new line"),
    ("escape", "leave the form; the steps get the keys"),
)

LISTS = (
    ("up, down, k, j", "move"),
    ("pageup, pagedown", "move by a page"),
    ("home, end, g, G", "first, last; at its end the step list follows the run"),
    ("enter", "look inside"),
)

AUDIT = (
    ("/", "type a filter"),
    ("f", "choose actions"),
    ("x", "show all"),
    ("v", "verify the chain"),
    ("o", "open the row's run"),
)

RUNS = (
    ("enter", "attach to the run"),
    ("c", "cancel it; again to abort"),
)

COMMANDS = (*APP, *RUN)

HELD = frozenset(command.id for command in COMMANDS) - {
    *("app.cancel", "app.interrupt", "app.escape"),
    *("app.next", "app.previous"),
}
"""Ids of the commands that wait a moment if their key came with pasted text."""


def bindings(commands: tuple[Command, ...]) -> list[BindingType]:
    """Return the key bindings of some commands."""
    return [command.binding() for command in commands]
