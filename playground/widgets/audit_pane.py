"""The audit log on the screen: facets, filter bar, rows, detail, and the chain's badge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from core.errors import FilterError, StepbrakeError
from core.model import AuditAction
from playground.safe import SafeStatic, safe_title
from playground.state import audit_filter
from playground.state.audit import Proof, Verified, columns, facets, toggled
from playground.state.audit_source import AuditSource
from playground.state.format import count, plural
from playground.widgets.audit_check import check_chain
from playground.widgets.audit_detail import AuditDetail
from playground.widgets.audit_facets import AuditFacets
from playground.widgets.audit_filter import AuditFilter, AuditHint
from playground.widgets.audit_follower import AuditFollower
from playground.widgets.audit_reader import AuditReader, Growth
from playground.widgets.audit_table import AuditTable
from playground.widgets.column_heads import ColumnHeads
from playground.widgets.virtual_list import VirtualList

_TINY = 10
_TALL = 20
_WIDE = 96
_WIDE_IF_SHORT = 70


class AuditPane(Container):
    """Shows the log and keeps up with it. Works in any size, beside a run or alone.

    Attributes:
        table, facets, bar, hint, detail: the parts.
        counts: rows of each action in the whole log.
        verified: what the last check of the chain said.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("f", "facets", "Actions"),
        Binding("x", "show_all", "Show all"),
        Binding("v", "verify", "Verify"),
        Binding("o", "open_run", "Open run"),
        Binding("escape", "close_detail", "Close", show=False),
    ]

    class RunSelected(Message):
        """The reader wants to see the run, and the step, that a row belongs to."""

        def __init__(self, run_id: str, step: str | None) -> None:
            super().__init__()
            self.run_id = run_id
            self.step = step

    def __init__(self, source: AuditSource, *, id: str | None = "audit") -> None:  # noqa: A002
        super().__init__(id=id)
        self._source = source
        self._troubled = False
        self._missed = 0
        self._said = ("", "")
        self._follower = AuditFollower(self, source, self)
        self.counts: Mapping[AuditAction, int] = {}
        self.verified = Verified()
        self.bar = AuditFilter(id="audit-filter")
        self.hint = AuditHint(id="audit-hint")
        self.facets = AuditFacets(id="audit-actions")
        self.heads = ColumnHeads()
        self.table = AuditTable(id="audit-table")
        self.detail = AuditDetail(id="audit-detail")
        self._empty = SafeStatic(id="audit-empty")

    def compose(self) -> ComposeResult:
        """Lay out the pane."""
        with Horizontal(id="audit-bar"):
            yield SafeStatic("/", id="audit-prompt")
            yield self.bar
        yield self.hint
        with Container(id="audit-body"):
            yield self.facets
            with Vertical(id="audit-rows"):
                yield self.heads
                yield self.table
                yield self._empty
                yield self.detail

    def on_mount(self) -> None:
        """Begin to keep up with the log."""
        self._draw()
        self._let_go = self._follower.start()

    def on_unmount(self) -> None:
        """Let go of the log."""
        self._let_go()

    @property
    def following(self) -> bool:
        """Return whether new rows slide in at the top."""
        return self.table.at_top and not self.has_class("-detail")

    def focus(self, scroll_visible: bool = True) -> Self:
        """Give the keys to the rows."""
        self.table.focus(scroll_visible)
        return self

    # Reading ------------------------------------------------------------------------

    @property
    def reader(self) -> AuditReader:
        """Return the rows of the present query."""
        return self._follower.reader

    @property
    def idle(self) -> bool:
        """Return whether everything in view is as the log was last seen."""
        return self._follower.idle

    @property
    def window(self) -> tuple[int, int]:
        """Return the first and last index in view."""
        return self.table.window

    def on_show(self) -> None:
        """Catch up with what happened out of sight."""
        self._follower.touch()

    @on(AuditTable.Wanted)
    def _load(self) -> None:
        self._fit()
        self._follower.sync()

    def grew(self, growth: Growth) -> None:
        """Draw what a look at the log found."""
        if self._troubled:
            self._troubled = False
            self.hint.rest()
        self.counts = growth.counts
        self._draw()
        if growth.added < 0 or self.table.pages is not self.reader.pages:
            self.table.show(self.reader.pages)
        elif growth.added:
            follow = self.following
            self._missed = 0 if follow else self._missed + growth.added
            self.table.grew(growth.added, follow=follow)
        self.filled()

    def filled(self) -> None:
        """Draw what has come into memory."""
        self.table.refresh_rows()
        if self.has_class("-detail") and self.table.current is not self.detail.row:
            self._show_detail()
        self._titles()

    def failed(self, error: StepbrakeError) -> None:
        """Say that the log does not answer."""
        self._troubled = True
        self.hint.fail(f"{error.what} · trying again")

    # Drawing ------------------------------------------------------------------------

    def _draw(self) -> None:
        """Draw everything but the rows."""
        self.facets.show(facets(self.counts, self.reader.actions))
        self._fit()
        rows = len(self.reader.pages)
        if self.reader.actions:
            self._empty.show("No row has these actions. ", ("x", "bold"), " shows all rows.")
        else:
            self._empty.show(
                ("No call yet.\n", "bold"),
                "F2, a prompt and Enter run an agent; F8 cancels. Each call leaves a row.",
            )
        self.set_class(not rows, "-empty")
        self.set_class(not rows and not self.reader.actions, "-void")
        self._titles()

    def _fit(self) -> None:
        """Choose the layout and the columns for this size."""
        short = self.size.height < _TALL
        self.set_class(short, "-short")
        self.set_class(self.size.height < _TINY, "-tiny")
        self.set_class(self.size.width >= (_WIDE_IF_SHORT if short else _WIDE), "-wide")
        width = self.table.scrollable_content_region.width
        fitting = columns(width, self.reader.actions or self.counts)
        if fitting != self.table.columns:
            self.table.columns = self.heads.columns = fitting
            self.table.refresh_rows()

    def _titles(self) -> None:
        total = sum(self.counts.values())
        shown = len(self.reader.pages)
        parts = ["audit", plural(total, "row")]
        if self.reader.actions:
            parts[1] = f"{count(shown)} of {parts[1]}"
        if self._missed:
            parts.append(f"↑ {count(self._missed)} newer")
        said = (" · ".join(parts), self.verified.label(total))
        if said == self._said:
            return  # a title that is set draws the whole pane anew
        self._said = said
        safe_title(self, *said)
        self.set_class(self.verified.proof is Proof.LINKED, "-linked")
        self.set_class(self.verified.proof is Proof.BROKEN, "-broken")

    def on_resize(self, event: events.Resize) -> None:
        """Choose the layout for this size."""
        self._fit()

    # Filtering ----------------------------------------------------------------------

    def filter_by(self, actions: tuple[AuditAction, ...]) -> None:
        """Show the rows with any of these actions; none means all."""
        with self.bar.prevent(Input.Changed):
            self.bar.value = audit_filter.write(actions)
        self.hint.rest()
        self._apply(actions)

    def _apply(self, actions: tuple[AuditAction, ...]) -> None:
        if actions == self.reader.actions:
            return
        self._missed = 0
        self.close_detail()
        self._follower.read(AuditReader(self._source, actions))
        self.facets.show(facets(self.counts, actions))

    @on(AuditFacets.Picked)
    def _pick(self, event: AuditFacets.Picked) -> None:
        event.stop()
        self.filter_by(toggled(self.reader.actions, event.facet))

    @on(Input.Changed, "#audit-filter")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        try:
            actions = audit_filter.parse(event.value)
        except FilterError as error:
            names = audit_filter.complete(event.value)
            if names:
                self.hint.offer(names)
            elif audit_filter.unfinished(event.value):
                self.hint.rest()
            else:
                self.hint.complain(error)
        else:
            self.hint.rest()
            self._apply(actions)

    @on(Input.Submitted, "#audit-filter")
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self._apply(audit_filter.parse(event.value))
        except FilterError as error:
            self.hint.complain(error)
        else:
            self.focus()

    @on(AuditFilter.Left)
    def _left(self) -> None:
        self.focus()

    def action_filter(self) -> None:
        """Type a query."""
        self.bar.focus()

    def action_facets(self) -> None:
        """Choose actions from the list."""
        (self.facets if self.facets.display else self.bar).focus()

    def action_show_all(self) -> None:
        """Drop the filter."""
        self.filter_by(())

    # The row with the cursor --------------------------------------------------------

    @on(VirtualList.Highlighted)
    def _moved(self, event: VirtualList.Highlighted) -> None:
        event.stop()
        if event.control is not self.table:
            return
        if self.table.at_top:
            self._missed = 0
            self._titles()
        if self.has_class("-detail"):
            self._show_detail()

    @on(VirtualList.Selected)
    def _opened(self, event: VirtualList.Selected) -> None:
        event.stop()
        if event.control is self.table:
            self.open_detail()

    @on(AuditDetail.Step)
    def _stepped(self, event: AuditDetail.Step) -> None:
        self.table.action_move(event.rows)

    def open_detail(self) -> None:
        """Show the whole row that has the cursor."""
        self.add_class("-detail")
        self._show_detail()
        if self.has_class("-short"):
            self.detail.focus()
        self.call_after_refresh(self.table.scroll_to_row, self.table.selected)

    def close_detail(self) -> None:
        """Show only the rows."""
        if self.has_class("-detail"):
            within = self.detail.has_focus
            self.remove_class("-detail")
            if within:
                self.focus()

    def _show_detail(self) -> None:
        row = self.table.current
        self.detail.show(row, (self.verified.findings or {}).get(row.seq, "") if row else "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Escape to others while there is nothing to close here."""
        if action == "close_detail":
            return self.has_class("-detail")
        return super().check_action(action, parameters)

    def action_close_detail(self) -> None:
        """Show only the rows."""
        self.close_detail()

    def action_open_run(self) -> None:
        """Go to the run that the row with the cursor belongs to."""
        row = self.table.current
        if row is not None and row.run_id:
            self.post_message(self.RunSelected(row.run_id, row.step))

    # The chain ----------------------------------------------------------------------

    def action_verify(self) -> None:
        """Check the whole chain, beside everything else."""
        if self.verified.proof is not Proof.CHECKING:
            self.verified = Verified(Proof.CHECKING)
            self._titles()
            self.run_worker(self._verify(), group="audit-verify")

    async def _verify(self) -> None:
        self.verified = await check_chain(self._source)
        findings = self.verified.findings or {}
        self.table.mark(findings)
        self._titles()
        bad = self.verified.first_bad
        index = None if bad is None else self.reader.pages.index_of(bad)
        if index is not None:
            self.table.selected = index
