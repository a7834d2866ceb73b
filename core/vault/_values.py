"""What a secret may be: its name, its value, where it travels."""

from __future__ import annotations

from core.config import (
    AllowList,
    Placement,
    field_fault,
    is_header_name,
    is_header_value,
    is_reserved_header,
    is_secret_name,
)
from core.errors import UsageError

MAX_VALUE = 16_384
_MAX_DESCRIPTION = 200
_END_OF_TIME = 253_402_300_800_000_000  # the year 10000
# The value itself stands in a header.
_IN_HEADER = frozenset({"bearer", "basic", "header", "api_key"})


def check_name(name: str) -> None:
    """Raise ``UsageError`` unless ``name`` may name a secret."""
    if not is_secret_name(name):
        raise UsageError(
            "A secret's name has 1 to 64 of a-z, 0-9, '.', '_', '-', and starts with a letter "
            "or digit",
            where="name",
        )


def check_value(name: str, value: str, placement: Placement) -> None:
    """Raise ``UsageError`` unless ``value`` can travel as ``placement`` says."""
    if not value.strip() or len(value) > MAX_VALUE:
        raise UsageError(
            "A secret's value has 1 to 16,384 characters, not all of them blank", where=name
        )
    if placement in _IN_HEADER and ("\t" in value or not is_header_value(value)):
        raise UsageError(
            "A secret's value holds line breaks, control characters or others that are not ASCII",
            where=name,
            hint="It travels in a header.",
        )
    if not value.isprintable():
        raise UsageError(
            "A secret's value holds line breaks, control or invisible characters", where=name
        )


def check_place(placement: Placement, field: str) -> None:
    """Raise ``UsageError`` unless a secret can travel in ``field``."""
    if placement in ("header", "api_key"):
        if not is_header_name(field):
            raise UsageError("This is not a header's name", where=field)
        if is_reserved_header(field):
            raise UsageError(
                "This header is the client's own",
                where=field,
                hint="Name the header that the server expects the secret in.",
            )
    fault = field_fault(placement, field)
    if fault is not None:
        raise UsageError(f"The field {fault}", where=field)


def check_rest(hosts: tuple[str, ...], expires_us: int | None, description: str) -> None:
    """Raise ``UsageError`` unless these may stand beside a secret."""
    AllowList.of(hosts)
    if expires_us is not None and not 0 <= expires_us < _END_OF_TIME:
        raise UsageError("The time lies outside of the years 1970 to 9999", where="expires")
    if len(description) > _MAX_DESCRIPTION or not description.isprintable():
        raise UsageError(
            "A description is one line of at most 200 printable characters", where="description"
        )
