"""Going along a stored chain and saying where it was tampered with.

One pass in constant memory. After a row that does not verify the chain goes on from the
mac that is stored, so that one edited row is one finding. Rows that were inserted, or
renumbered to hide a hole, betray themselves: their neighbours verify under other numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from core.audit._encoding import StoredRow
from core.audit._moved import explain
from core.audit._rows import (
    KEY_ID,
    MAC,
    Finding,
    Hole,
    Prover,
    Reason,
    Suspect,
    Verification,
)

MAX_FINDINGS = 1_000
_MAX_SHIFT = 64
_MAX_TRIES = 20_000


def walk(rows: Iterable[StoredRow], prover: Prover, genesis: bytes) -> Verification:
    """Verify ``rows``, which come by ascending seq, and return what is wrong.

    Args:
        rows: the stored rows.
        prover: knows the chain keys.
        genesis: what stands before the first row.
    """
    rows = iter(rows)
    count, previous, odd = prover.follow(rows, genesis)
    if odd is None:
        return Verification(count)
    state = _Walk(prover, previous, count, intact=count)
    state.examine(odd)
    count += 1
    for row in rows:
        count += 1
        state.examine(row)
    return Verification(count, state.findings())


@dataclass(slots=True)
class _Walk:
    """Where a verification stands after the first row that was not as it should be.

    Attributes:
        previous: the mac stored in the last row.
        position: the last row's seq.
        intact: how many rows verified.
        shift: what must be added to a row's seq to get the one it was sealed under: not 0
            once rows were removed or inserted and the rest renumbered.
        anchor: mac and sealed seq of the last row that counts as verified.
        recomputed: if the last row did not verify: the mac its content would have.
        pending: the rows after ``anchor``, none of which verified.
        suspects: rows that did not verify, to be explained at the end.
        holes: places where rows are missing, to be explained at the end.
    """

    prover: Prover
    previous: bytes
    position: int
    intact: int
    shift: int = 0
    anchor: tuple[bytes, int] = (b"", 0)
    recomputed: bytes | None = None
    pending: list[Suspect] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    unknown_keys: set[str] = field(default_factory=set)
    tries: int = _MAX_TRIES

    def __post_init__(self) -> None:
        self.anchor = (self.previous, self.position)

    def examine(self, row: StoredRow) -> None:
        """Take the next row."""
        seq = row[0]
        if type(seq) is not int or seq <= self.position:
            self._find(Reason.INSERTED, self.position + 1)
            return
        number = seq + self.shift
        if seq > self.position + 1:
            self._examine_after_gap(row)
        elif not self.prover.knows(row):
            if self.prover.verifies_with_another_key(row, self.previous, number):
                self._find(Reason.EDITED, seq)
            elif row[KEY_ID] not in self.unknown_keys:
                self.unknown_keys.add(row[KEY_ID])
                self._find(Reason.KEY_UNKNOWN, seq)
            self._accept(row)
        elif self.prover.verifies(row, self.previous, number) or (
            # Only the mac of the row before was altered.
            self.recomputed is not None and self.prover.verifies(row, self.recomputed, number)
        ):
            self.intact += 1
            self._accept(row)
        elif self.pending and self._explains_pending(row):
            self.intact += 1
        else:
            if len(self.pending) < MAX_FINDINGS:
                self.pending.append(Suspect(row, self.previous, number))
            self.recomputed = self.prover.mac(row, self.previous, number)
            self.previous, self.position = row[MAC], seq

    def findings(self) -> tuple[Finding, ...]:
        """Return what was found, by seq."""
        suspects = self.suspects + self.pending
        found = self.found + explain(suspects, self.holes, self.prover)
        nothing_fits = all(finding.reason is Reason.EDITED for finding in found)
        if nothing_fits and len(found) > 1 and not self.intact:
            return (Finding(Reason.REPLACED, 0),)
        return tuple(sorted(found, key=lambda finding: finding.seq)[:MAX_FINDINGS])

    def _examine_after_gap(self, row: StoredRow) -> None:
        first = self.position + 1
        if self.prover.verifies(row, self.previous, first + self.shift):
            # Nothing is missing: the rest was given higher numbers.
            self._find(Reason.REORDERED, first)
            self.shift += first - row[0]
            self.intact += 1
        elif len(self.holes) < MAX_FINDINGS:
            self.holes.append(Hole(first, first + self.shift, self.previous, row))
        self._accept(row)

    def _explains_pending(self, row: StoredRow) -> bool:
        """Return whether ``row`` shows what happened to the rows before it."""
        mac, sealed = self.anchor
        if self.prover.verifies(row, mac, sealed + 1):
            if any(self.prover.verifies(it.row, row[MAC], sealed + 2) for it in self.pending):
                return False  # not inserted before it: moved there from behind it
            self.shift = sealed + 1 - row[0]
            self._settle(Reason.INSERTED, row)
            return True
        if len(self.pending) > 1 or self.tries < _MAX_SHIFT:
            return False
        self.tries -= _MAX_SHIFT
        number = row[0] + self.shift
        for removed in range(1, _MAX_SHIFT + 1):
            if self.prover.verifies(row, self.previous, number + removed):
                self.shift += removed
                self._settle(Reason.MISSING, row)
                return True
        return False

    def _settle(self, reason: Reason, row: StoredRow) -> None:
        """Put the pending rows down to ``reason`` and go on from ``row``."""
        self._find(reason, self.pending[0].seq)
        self.pending.clear()
        self._accept(row)

    def _accept(self, row: StoredRow) -> None:
        if len(self.suspects) < MAX_FINDINGS:
            self.suspects += self.pending
        self.pending.clear()
        self.recomputed = None
        self.previous, self.position = row[MAC], row[0]
        self.anchor = (self.previous, self.position + self.shift)

    def _find(self, reason: Reason, seq: int) -> None:
        if len(self.found) < MAX_FINDINGS:
            self.found.append(Finding(reason, seq))
