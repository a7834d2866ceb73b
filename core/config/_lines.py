"""Which line of a TOML text a value stands on."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any


def line_of(text: str, path: Sequence[str]) -> int | None:
    """Return the line (from 1) where the table or key at ``path`` begins.

    The parser keeps no positions. A prefix of the text that parses and holds ``path``
    for the first time ends with it, so candidate lines are tried in order.

    Args:
        text: valid TOML.
        path: keys from the root.

    Returns:
        The line, or None if the key is spelled with escapes.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if path[-1] in line and _holds(_shortest(lines, number), path):
            return number
    return None


def _shortest(lines: list[str], count: int) -> Mapping[str, Any]:
    # A value may go on over several lines: the prefix grows until it is complete.
    for end in range(count, len(lines)):
        try:
            return tomllib.loads("\n".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
    return tomllib.loads("\n".join(lines))


def _holds(value: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True
