"""Tool calls that arrive in pieces, as each server cuts them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.model.messages import ToolCall
from core.providers._json import is_object
from core.providers._lost import LostFields
from core.text import well_formed

_KNOWN = frozenset({"index", "id", "type", "function"})
_KNOWN_FUNCTION = frozenset({"name", "arguments"})


@dataclass(slots=True)
class _Open:
    """A call under construction."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def complete(self) -> bool:
        return bool(self.name) and is_object("".join(self.arguments))


class ToolCallPieces:
    """Puts pieces of tool calls together.

    Servers differ: an index on every piece, none, or always 0; the id once or every time; the
    name whole once, whole every time, or in pieces; a call cut to shreds or whole in one chunk.
    A piece continues the call with its index or its id, else the last one, unless it clearly
    begins another.

    Args:
        lost: is told of calls that are no function calls, and of unknown fields.
    """

    def __init__(self, lost: LostFields) -> None:
        self._lost = lost
        self._calls: list[_Open] = []
        self._by_index: dict[int | None, _Open] = {}
        self._by_id: dict[str, _Open] = {}

    def add(self, pieces: list[Any], path: str, *, whole: bool) -> None:
        """Take the pieces of one chunk, or the calls of a whole answer.

        Args:
            pieces: the wire's list.
            path: where it was.
            whole: each entry is a call of its own, whatever its id and index say.
        """
        for position, piece in enumerate(pieces):
            if not isinstance(piece, Mapping):
                self._lost.note(path)
                continue
            self._lost.note_unknown(piece, path, _KNOWN)
            function = piece.get("function")
            if not isinstance(function, Mapping):
                continue
            self._lost.note_unknown(function, f"{path}.function", _KNOWN_FUNCTION)
            index, identifier = piece.get("index"), _text(piece.get("id"))
            index = index if isinstance(index, int) else None
            name = _text(function.get("name"))
            call = None if whole else self._continued(index, identifier, name, first=position == 0)
            if call is None:
                call = _Open()
                self._calls.append(call)
            if index is not None:
                self._by_index[index] = call
            if identifier:
                call.id = call.id or identifier
                self._by_id[identifier] = call
            if name != call.name:
                call.name += name
            call.arguments.append(_arguments(function.get("arguments")))

    def _continued(
        self, index: int | None, identifier: str, name: str, *, first: bool
    ) -> _Open | None:
        """Return the call that a piece continues, or None if it begins one."""
        # Without an index, each entry of one chunk is a call of its own.
        if index in self._by_index:
            call = self._by_index[index]
        elif identifier in self._by_id and (index is None or not name):
            call = self._by_id[identifier]
        elif index is None and first and self._calls and not (identifier and name):
            call = self._calls[-1]
        else:
            return None
        if not name:
            return call
        if identifier and call.id:
            return call if identifier == call.id else None
        if any(call.arguments) and (name != call.name or call.complete()):
            return None
        return call

    @property
    def length(self) -> int:
        """Characters of names and arguments so far."""
        return sum(len(call.name) + sum(map(len, call.arguments)) for call in self._calls)

    def calls(self, *, whole: bool) -> tuple[ToolCall, ...]:
        """Return the calls.

        Args:
            whole: the answer is complete: every call counts as it stands. Else only those whose
                arguments are a complete JSON object, which nothing could have continued.
        """
        ids: set[str] = set()
        calls = []
        for number, call in enumerate(self._calls):
            if whole or call.complete():
                identifier = _unique(well_formed(call.id) or f"call_{number}", ids)
                ids.add(identifier)
                name = well_formed(call.name)
                arguments = well_formed("".join(call.arguments))
                calls.append(ToolCall(identifier, name, arguments))
        return tuple(calls)


def _unique(identifier: str, taken: set[str]) -> str:
    """Return ``identifier``, numbered if another call of the answer has it already."""
    candidate, number = identifier, 2
    while candidate in taken:
        candidate, number = f"{identifier}-{number}", number + 1
    return candidate


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """Return arguments as the string that was sent; some servers send the object itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
