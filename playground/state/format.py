"""Numbers, times and sizes as a person reads them, in as few columns as it takes."""

from __future__ import annotations

from datetime import UTC, datetime


def duration(milliseconds: float | None) -> str:
    """Return a duration: ``8 ms``, ``4.2 s``, ``1m 04s``, ``2h 05m``; empty for None."""
    if milliseconds is None:
        return ""
    if milliseconds < 999.5:
        return f"{max(0, round(milliseconds))} ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    if minutes < 60:
        return f"{minutes}m {seconds:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02d}m"


def elapsed(milliseconds: float | None) -> str:
    """Return a duration that is still growing: never in milliseconds, which would flicker."""
    if milliseconds is None or milliseconds >= 999.5:
        return duration(milliseconds)
    return f"{max(0.0, milliseconds) / 1000:.1f} s"


def count(number: int) -> str:
    """Return a count with thin groups: ``1 204``."""
    return f"{number:,}".replace(",", " ")


def short_count(number: int) -> str:
    """Return a count in at most five columns: ``812``, ``1.2k``, ``34k``, ``1.2M``."""
    for limit, unit, size in ((999_500, "k", 1_000), (999_500_000, "M", 1_000_000)):
        if number < 1_000:
            return str(number)
        if number < limit:
            value = number / size
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
    return f"{number / 1_000_000_000:.1f}G"


def cost(usd: float | None) -> str:
    """Return US dollars; an unknown price is said to be unknown, never nothing."""
    if usd is None:
        return "cost unknown"
    return f"${usd:.4f}" if usd < 1 else f"${usd:.2f}"


def clock_time(at_us: int) -> str:
    """Return the UTC time of day with seconds, ``12:04:09``."""
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).strftime("%H:%M:%S")


def plural(number: int, noun: str) -> str:
    """Return ``1 round``, ``2 rounds``."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"
