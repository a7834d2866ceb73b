"""Rows that changed places."""

from __future__ import annotations

from collections.abc import Sequence

from core.audit._rows import Finding, Hole, Prover, Reason, Suspect

# The search is cubic; a log with more that is wrong than this is not worth it.
MAX_EXPLAINED = 24


def explain(suspects: list[Suspect], holes: list[Hole], prover: Prover) -> list[Finding]:
    """Return what suspects and holes mean: one finding for each change.

    Rows that verify in another's place were moved. A row that verifies in its own place
    after another suspect's mac was not altered at all: only the row before it was.
    """
    if len(suspects) + len(holes) > MAX_EXPLAINED:
        edited = [Finding(Reason.EDITED, suspect.seq) for suspect in suspects]
        return edited + [Finding(Reason.MISSING, hole.seq) for hole in holes]
    findings = _moved_out_of_holes(suspects, holes, prover)
    origin: dict[int, int] = {}
    for suspect in suspects:
        home = _home(suspect, suspects, prover)
        if home is None:
            findings.append(Finding(Reason.EDITED, suspect.seq))
        else:
            origin[suspect.seq] = home.seq
    while origin:
        moves = [min(origin)]
        while moves[-1] in origin:
            moves.append(origin.pop(moves[-1]))
        if moves[1] != moves[0]:
            findings.append(Finding(Reason.REORDERED, moves[0]))
    return findings


def _moved_out_of_holes(
    suspects: list[Suspect], holes: list[Hole], prover: Prover
) -> list[Finding]:
    """Find the rows that left a hole where they were; take what that explains off the lists."""
    findings: list[Finding] = []
    for hole in tuple(holes):
        strays: list[Suspect | Hole] = [*suspects, *holes] if hole in holes else []
        for stray in strays:
            if prover.verifies(stray.row, hole.before, hole.number):
                findings.append(Finding(Reason.REORDERED, hole.seq))
                holes.remove(hole)
                if isinstance(stray, Suspect):
                    suspects.remove(stray)
                elif stray in holes:
                    holes.remove(stray)
                break
    return findings + [Finding(Reason.MISSING, hole.seq) for hole in holes]


def _home(suspect: Suspect, suspects: Sequence[Suspect], prover: Prover) -> Suspect | None:
    """Return the suspect in whose place this one was sealed."""
    macs = [other.mac for other in suspects]
    for other in (suspect, *suspects):
        for previous in (other.before, *macs):
            mac = prover.mac(suspect.row, previous, other.number)
            if mac is not None and mac in (suspect.mac, other.mac):
                return other
    return None
