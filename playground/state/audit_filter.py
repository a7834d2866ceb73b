"""The text of the audit pane's filter bar: which actions to show.

``action:NAME`` or a bare ``NAME``; several are separated by a space or ``or`` and mean
any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from core.errors import FilterError
from core.model import AuditAction

_TERM = re.compile(r"\S+")
_FIELD = "action:"
_NAMES = tuple(action.value for action in AuditAction)
_LONGEST = 64  # characters of a term that are compared with the names


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    start: int

    @property
    def name(self) -> str:
        return self.text.removeprefix(_FIELD)

    @property
    def name_start(self) -> int:
        return self.start + len(self.text) - len(self.name)


def parse(text: str) -> tuple[AuditAction, ...]:
    """Return the actions a query asks for, each once, in its order; none means all.

    Raises:
        FilterError: a term is no action; ``hint`` names the nearest.
    """
    found: dict[AuditAction, None] = {}
    for term in _terms(text):
        if term.text.lower() == "or":
            continue
        try:
            found[AuditAction(term.name)] = None
        except ValueError:
            raise _problem(term) from None
    return tuple(found)


def write(actions: Iterable[AuditAction]) -> str:
    """Return the query for any of these actions."""
    return " or ".join(f"{_FIELD}{action.value}" for action in actions)


def complete(text: str, limit: int = 8) -> tuple[str, ...]:
    """Return the action names that finish the last term, none if it is finished.

    A term also matches in the middle of a name, at the start of a word: ``cancel`` offers
    ``http_call_cancelled``. Names that begin with the term come first.
    """
    last = _last(text)
    if last is None or not last.name or last.name in _NAMES:
        return ()
    start = [name for name in _NAMES if name.startswith(last.name)]
    inside = [name for name in _NAMES if f"_{last.name}" in name and name not in start]
    return tuple(start + inside)[:limit]


def accept(text: str, name: str) -> str:
    """Return the query with its last term replaced by a whole name."""
    last = _last(text)
    return (text if last is None else text[: last.start]) + f"{_FIELD}{name} "


def unfinished(text: str) -> bool:
    """Return whether the last term may still become an action's name."""
    last = _last(text)
    return last is not None and (_FIELD.startswith(last.text) or bool(complete(text)))


def _terms(text: str) -> list[_Term]:
    return [_Term(found[0], found.start()) for found in _TERM.finditer(text)]


def _last(text: str) -> _Term | None:
    """Return the term the cursor would be in at the end of the text."""
    terms = _terms(text)
    return terms[-1] if terms and not text[-1:].isspace() else None


def _problem(term: _Term) -> FilterError:
    field, colon, _ = term.text.partition(":")
    if colon and field != "action":
        what = f"no field “{field[:_LONGEST]}” here, only action:NAME"
        name, position = term.text.rpartition(":")[2], term.start
    else:
        what = f"no action “{term.name[:_LONGEST]}”"
        name, position = term.name, term.name_start
    return FilterError(what, position=position, hint=f"nearest: {_nearest(name)}")


def _nearest(name: str) -> str:
    wanted = name[:_LONGEST].lower()
    close = get_close_matches(wanted, _NAMES, n=1, cutoff=0.0)
    return close[0] if close else _NAMES[0]
