"""The two presses that stop a run, as a value. No widgets, no clock of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.model import CancelLevel

ARM_SECONDS = 0.3
"""How long the first level must have been on the screen before a press can raise it."""

REPEAT_SECONDS = 0.12
"""Presses closer together than this are one key held down."""


@dataclass(frozen=True, slots=True)
class CancelLadder:
    """Where a run stands between its first cancel and its abort.

    Times are seconds on one monotonic clock. There is no longest wait between presses.

    Attributes:
        level: the level asked for so far, by whomever; None before the first.
        shown_at: since when the screen says so, None until it was painted.
        pressed_at: the last press, of a held key too.
    """

    level: CancelLevel | None = None
    shown_at: float | None = None
    pressed_at: float | None = None

    def press(self, now: float) -> tuple[CancelLadder, CancelLevel | None]:
        """Take one press of the cancel key or button.

        Returns:
            The ladder after it, and the level to ask the runtime for; None if this press
            asks for nothing (a repeat, too early, or nothing is left to raise).
        """
        held = self.pressed_at is not None and now - self.pressed_at < REPEAT_SECONDS
        pressed = replace(self, pressed_at=now)
        if self.level is None:
            return replace(pressed, level=CancelLevel.BOUNDARY), CancelLevel.BOUNDARY
        if self.level is CancelLevel.ABORT or held or not self.armed(now):
            return pressed, None
        return replace(pressed, level=CancelLevel.ABORT, shown_at=None), CancelLevel.ABORT

    def painted(self, now: float) -> CancelLadder:
        """Say that the present level is on the screen now."""
        if self.level is None or self.shown_at is not None:
            return self
        return replace(self, shown_at=now)

    def requested(self, level: CancelLevel) -> CancelLadder:
        """Take a level that anybody asked for, here or in another process."""
        if self.level is not None and level <= self.level:
            return self
        return replace(self, level=level, shown_at=None)

    def refused(self, stands: CancelLevel | None) -> CancelLadder:
        """Go back to the level that stands: the runtime did not take the one asked for."""
        return CancelLadder(level=stands, pressed_at=self.pressed_at)

    def armed(self, now: float) -> bool:
        """Return whether a fresh press would raise the level."""
        return (
            self.level is CancelLevel.BOUNDARY
            and self.shown_at is not None
            and now - self.shown_at >= ARM_SECONDS
        )
