"""What may come next in a filter bar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.filter._fields import Field, FieldType, Name, schema
from core.filter._lexer import quote

_PLAIN = re.compile(r'(?![<>])[^\s()"*]+')
_WORD_REST = re.compile(r'[^\s()"]*')
_QUOTED_REST = re.compile(r'(?:[^"\\]|\\.)*"?', re.DOTALL)
_DEFAULT_VALUES = {
    FieldType.BOOL: ("yes", "no"),
    FieldType.TIME: ("today", "yesterday", "10m", "1h", "1d"),
}


@dataclass(frozen=True, slots=True)
class Completion:
    """A piece of text for a place in the query.

    Attributes:
        start: offset of the first character to replace.
        end: offset after the last one.
        text: what to put there.
    """

    start: int
    end: int
    text: str


def complete(
    query: str,
    cursor: int,
    fields: Mapping[str, str | Field],
    values: Mapping[str, Sequence[str]],
) -> list[Completion]:
    """Return what may stand at the cursor, the likeliest first; nothing if it is whole.

    After ``field:`` these are the field's values, elsewhere the names that begin like the
    word and the values that do. A value also fits by the start of a word inside it:
    ``cancel`` finds ``http_call_cancelled``.

    Args:
        query: the text so far; it need not parse.
        cursor: offset of the cursor.
        fields: as for ``parse``.
        values: the values to offer, by field.
    """
    names = schema(fields).names
    start, is_quoted = _word_start(query, cursor)
    rest = (_QUOTED_REST if is_quoted else _WORD_REST).match(query, cursor)
    end = cursor if rest is None else rest.end()
    written, colon, prefix = query[start:cursor].partition(":")
    if colon:
        name = names.get(written)
        texts = [] if name is None else _values(written, name, prefix.removeprefix('"'), values)
        start += len(written) + 1
    elif is_quoted:
        texts = []
    else:
        texts = [f"{name}:" for name in names if name.startswith(written.lower())]
        if written:
            for known, name in names.items():
                found = _fitting(values.get(known, ()), written)
                texts += [f"{known}:{_as_value(name, value)}" for value in found]
    return [Completion(start, end, text) for text in texts if text != query[start:end]]


def _word_start(query: str, cursor: int) -> tuple[int, bool]:
    """Return where the word at the cursor begins, after its minus, and whether it is quoted."""
    start, is_quoted, at = 0, False, 0
    while at < cursor:
        char = query[at]
        if is_quoted and char == "\\":
            at += 1
        elif char == '"':
            is_quoted = not is_quoted
        elif not is_quoted and (char.isspace() or char in "()" or (char == "-" and at == start)):
            start = at + 1
        at += 1
    return start, is_quoted


def _values(
    written: str, name: Name, prefix: str, values: Mapping[str, Sequence[str]]
) -> list[str]:
    offered = values.get(written) or values.get(name.field.name)
    offered = offered or _DEFAULT_VALUES.get(name.field.type, ())
    if name.field.type is FieldType.TIME and not name.operator:
        spans = ("today", "yesterday")
        offered = [value if value in spans else f">={value}" for value in offered]
    return [_as_value(name, value) for value in _fitting(offered, prefix)]


def _fitting(offered: Iterable[str], prefix: str) -> list[str]:
    wanted = prefix.lower()
    begin = [value for value in offered if value.lower().startswith(wanted)]
    inside = re.compile(rf"(?<=[^a-z0-9]){re.escape(wanted)}")
    return begin + [
        value for value in offered if value not in begin and inside.search(value.lower())
    ]


def _as_value(name: Name, value: str) -> str:
    is_plain = _PLAIN.fullmatch(value) is not None and ".." not in value
    return value if is_plain or name.field.type is not FieldType.TEXT else quote(value)
