"""What a Google-style docstring says about a function and its arguments."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"(Args|Arguments|Returns|Yields|Raises|Attributes|Examples?|Notes?):\s*")
_ENTRY = re.compile(r"(\w+)\s*(?:\([^)]*\))?:\s*(.*)")


def parse_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """Return the description (all before the first section) and the arguments'."""
    summary: list[str] = []
    entries: dict[str, list[str]] = {}
    section = ""
    indent = 0
    current: list[str] | None = None
    for line in inspect.cleandoc(text or "").splitlines():
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        if depth == 0 and (heading := _SECTION.fullmatch(bare)):
            section, current, indent = heading[1], None, 0
        elif not section:
            summary.append(line)
        elif section.startswith("Arg") and bare:
            indent = indent or depth
            entry = _ENTRY.fullmatch(bare) if depth == indent else None
            if entry:
                current = entries.setdefault(entry[1], [])
                bare = entry[2]
            if current is not None:
                current.append(bare)
    return (
        "\n".join(summary).strip(),
        {name: " ".join(lines).strip() for name, lines in entries.items()},
    )
