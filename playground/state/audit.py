"""What the audit pane shows, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.model import AuditAction, AuditRow, Badge, iso_time
from playground.state.audit_words import GLYPHS, MEANINGS, went_wrong
from playground.state.columns import Column
from playground.state.format import count


@dataclass(frozen=True, slots=True)
class Facet:
    """One line of the facet list; the first has no action and stands for all of them.

    Attributes:
        action: the action, None for all.
        rows: how many have it.
        chosen: whether the table shows it because of this line.
    """

    action: AuditAction | None
    rows: int
    chosen: bool

    @property
    def name(self) -> str:
        """Return what the line says."""
        return "all actions" if self.action is None else self.action.value

    @property
    def badge(self) -> Badge:
        """Return how the line is shown."""
        return Badge.NEUTRAL if self.action is None else self.action.badge


def facets(counts: Mapping[AuditAction, int], chosen: Collection[AuditAction]) -> tuple[Facet, ...]:
    """Return the facet list: all, then each action that has rows or is chosen.

    The order is that of ``AuditAction``, so that no line moves while counts grow.
    """
    lines = [Facet(None, sum(counts.values()), not chosen)]
    for action in AuditAction:
        rows = counts.get(action, 0)
        if rows or action in chosen:
            lines.append(Facet(action, rows, action in chosen))
    return tuple(lines)


def toggled(chosen: tuple[AuditAction, ...], facet: Facet) -> tuple[AuditAction, ...]:
    """Return the chosen actions after somebody picked a line."""
    if facet.action is None:
        return ()
    if facet.action in chosen:
        return tuple(action for action in chosen if action is not facet.action)
    return tuple(action for action in AuditAction if action in chosen or action is facet.action)


class Proof(StrEnum):
    """How far the chain has been checked."""

    UNKNOWN = "unknown"
    CHECKING = "checking"
    LINKED = "linked"
    BROKEN = "broken"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Verified:
    """What the last check of the chain said.

    Attributes:
        proof: its outcome.
        rows: how many rows were read.
        head: the last row's mac, hex.
        findings: reason of each bad row by its seq.
        why: why it could not be checked.
    """

    proof: Proof = Proof.UNKNOWN
    rows: int = 0
    head: str = ""
    findings: Mapping[int, str] | None = None
    why: str = ""

    @property
    def first_bad(self) -> int | None:
        """Return the seq of the first bad row."""
        return min(self.findings, default=None) if self.findings else None

    def label(self, total: int) -> str:
        """Return the badge's text; ``total`` is the log's present length."""
        match self.proof:
            case Proof.UNKNOWN:
                return "v verifies"
            case Proof.CHECKING:
                return "⋯ verifying"
            case Proof.LINKED:
                newer = total - self.rows
                since = f" · {count(newer)} since" if newer > 0 else ""
                head = f" · head {self.head[:4]}…" if self.head else ""
                return f"✓ {count(self.rows)} linked{head}{since}"
            case Proof.BROKEN:
                return f"✗ {self._broken()}"
            case Proof.UNCHECKED:
                return f"not verified: {self.why}"

    def _broken(self) -> str:
        findings = self.findings or {}
        bad = self.first_bad or 0
        where = f" at seq {count(bad)}" if bad else ""
        more = f" · {count(len(findings))} findings" if len(findings) > 1 else ""
        return f"{findings.get(bad, 'broken')}{where}{more}"


def columns(width: int, actions: Iterable[AuditAction]) -> tuple[Column, ...]:
    """Return the columns that fit a table of ``width`` cells, the sign first.

    What identifies a row comes first and stays; the rest goes as it gets narrow.

    Args:
        width: cells of a line.
        actions: what the rows may say they are.
    """
    longest = max((len(action.value) for action in actions), default=9)
    kept = [Column("", 1), Column("utc", 14 if width >= 116 else 8)]
    kept.append(Column("action", min(longest, max(20, width - 30))))
    if width >= 60:
        kept.append(Column("http", 4))
    if width >= 96:
        kept.append(Column("method", 6))
    kept.append(Column("call", grow=True))
    if width >= 72:
        kept.append(Column("credential", 10))
    if width >= 110:
        kept.append(Column("run", 8))
    return tuple(kept)


def cell(row: AuditRow, column: Column) -> str:
    """Return what a row has in a column."""
    if column.name == "utc":
        return iso_time(row.at_us)[5 if column.width > 8 else 11 : 19].replace("T", " ")
    return _CELLS[column.name](row)


def call(row: AuditRow) -> str:
    """Return what a row is about: the call, else its message, else what was done by whom."""
    if row.host:
        return f"{row.host}{row.path or ''}"
    return row.message or " · ".join(filter(None, (row.credential, f"by {row.actor}")))


def short_id(identifier: str | None) -> str:
    """Return the end of an id, which differs where ids of one minute begin alike."""
    return (identifier or "")[-8:]


def details(row: AuditRow) -> tuple[tuple[str, str], ...]:
    """Return the fields of a row that are set, as label and text, in the log's order."""
    fields = (
        ("seq", count(row.seq)),
        ("at", iso_time(row.at_us)),
        ("action", row.action.value),
        ("success", "yes" if row.success else "no"),
        ("status", str(row.status or "")),
        ("method", row.method),
        ("host", row.host),
        ("path", row.path),
        ("credential", row.credential),
        ("run", row.run_id),
        ("step", row.step),
        ("call", row.call_id),
        ("actor", row.actor),
        ("message", row.message),
        ("key", row.key_id),
        ("mac", row.mac.hex()),
    )
    absent = ", ".join(name for name, text in fields if not text)
    shown = tuple((name, text) for name, text in fields if text)
    return (*shown, ("not set", absent)) if absent else shown


def meaning(row: AuditRow) -> str:
    """Return in one sentence what the row's action says."""
    return MEANINGS[row.action]


_CELLS: dict[str, Callable[[AuditRow], str]] = {
    "": lambda row: "✗" if went_wrong(row) else GLYPHS[row.action.badge],
    "action": lambda row: row.action.value,
    "http": lambda row: str(row.status) if row.status else "",
    "method": lambda row: row.method or "",
    "call": call,
    "credential": lambda row: row.credential or "",
    "run": lambda row: short_id(row.run_id),
}
