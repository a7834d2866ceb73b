"""The audit pane's filter bar and the line under it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from core.errors import FilterError
from playground.safe import SafeStatic
from playground.state import audit_filter


class _Names(Suggester):
    """Finishes an action's name in grey behind the cursor."""

    async def get_suggestion(self, value: str) -> str | None:
        for name in audit_filter.complete(value):
            if name.startswith(last := value.rpartition(" ")[2].removeprefix("action:")):
                return value + name[len(last) :]
        return None


class AuditFilter(Input):
    """Where the query is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "accept_name", "Complete", show=False),
        Binding("escape", "leave", "Back to the rows", show=False),
    ]

    class Left(Message):
        """The reader is done with the bar."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(
            placeholder="action:NAME shows only those rows",
            suggester=_Names(use_cache=True, case_sensitive=True),
            compact=True,
            id=id,
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Tab to the screen where there is nothing to complete."""
        if action == "accept_name":
            return bool(audit_filter.complete(self.value))
        return super().check_action(action, parameters)

    def action_accept_name(self) -> None:
        """Take the first name that is offered."""
        self.value = audit_filter.accept(self.value, audit_filter.complete(self.value)[0])
        self.cursor_position = len(self.value)

    def action_leave(self) -> None:
        """Go back to the rows."""
        self.post_message(self.Left())


class AuditHint(SafeStatic):
    """Says what can be completed or what is wrong; takes no room while there is nothing."""

    def offer(self, names: tuple[str, ...]) -> None:
        """Name what Tab takes, and what else there is."""
        self.set_classes("-offer")
        self.show(("⇥ ", "bold"), names[0], ("".join(f"   {name}" for name in names[1:]), "dim"))

    def complain(self, error: FilterError) -> None:
        """Say where a query is wrong and which action is nearest."""
        self.fail(f"{error.where}: {error.what} · {error.hint}")

    def fail(self, text: str) -> None:
        """Say what went wrong."""
        self.set_classes("-error")
        self.show(("✗ ", "bold"), text)

    def rest(self) -> None:
        """Have nothing to say."""
        self.set_classes("")
