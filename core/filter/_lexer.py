"""From a query's text to tokens, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from core.errors import FilterError

_SPACE = re.compile(r"\s*")
_WORD = re.compile(r'[^\s()"]*')
_OPERATOR = re.compile(r">=|<=|>|<|")
_QUOTED = re.compile(r'[^"\\]*')
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ENDS_TERM = re.compile(r"[\s()]|\Z")

_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_UNESCAPES = {ord(plain): f"\\{letter}" for letter, plain in _ESCAPES.items()}


class Kind(Enum):
    """What a token is."""

    OPEN = auto()
    CLOSE = auto()
    NOT = auto()
    AND = auto()
    OR = auto()
    TERM = auto()
    END = auto()


_KEYWORDS = {"not": Kind.NOT, "and": Kind.AND, "or": Kind.OR}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a query.

    Attributes:
        kind: what it is.
        start: offset of its first character.
        name: what stands before the colon; None where there is none.
        operator: the comparison before the value, or empty.
        value: the value, without quotes and escapes.
        quoted: whether the value stood in quotes.
        value_start: offset of the value.
    """

    kind: Kind
    start: int
    name: str | None = None
    operator: str = ""
    value: str = ""
    quoted: bool = False
    value_start: int = 0


def tokens(query: str) -> Iterator[Token]:
    """Yield the query's tokens, the last one ``Kind.END``.

    Raises:
        FilterError: there is no such token.
    """
    bad = _UNSTORABLE.search(query)
    if bad is not None:
        raise FilterError("No row can hold this character", position=bad.start())
    at = _skip_space(query, 0)
    while at < len(query):
        if query[at] in "()":
            token = Token(Kind.OPEN if query[at] == "(" else Kind.CLOSE, at)
            at += 1
        elif query[at] == "-":
            token = Token(Kind.NOT, at)
            at += 1
            if _ENDS_TERM.match(query, at) and query[at : at + 1] != "(":
                raise FilterError(
                    "Nothing follows the -",
                    position=at,
                    hint="Put it right before a term, or in quotes to look for it.",
                )
        else:
            token, at = _term(query, at)
        yield token
        at = _skip_space(query, at)
    yield Token(Kind.END, len(query))


def quote(text: str) -> str:
    """Return ``text`` as a quoted text that reads as itself."""
    return f'"{text.translate(_UNESCAPES)}"'


def _skip_space(query: str, at: int) -> int:
    return _match_end(_SPACE, query, at)


def _match_end(pattern: re.Pattern[str], query: str, at: int) -> int:
    found = pattern.match(query, at)
    return at if found is None else found.end()


def _term(query: str, start: int) -> tuple[Token, int]:
    end = _match_end(_WORD, query, start)
    colon = query.find(":", start, end)
    if colon < 0 and end > start:
        _expect_end(query, end)
        word = query[start:end]
        kind = _KEYWORDS.get(word.lower(), Kind.TERM)
        return Token(kind, start, value=word, value_start=start), end
    name = query[start:colon] if colon >= 0 else None
    operator_start = start if name is None else colon + 1
    value_start = operator_start
    if name is not None:
        value_start = _match_end(_OPERATOR, query, operator_start)
    quoted = value_start == end and query.startswith('"', end)
    if quoted:
        value, end = _quoted(query, end)
    else:
        value = query[value_start:end]
    _expect_end(query, end)
    return (
        Token(
            Kind.TERM,
            start,
            name=name,
            operator=query[operator_start:value_start],
            value=value,
            quoted=quoted,
            value_start=value_start,
        ),
        end,
    )


def _expect_end(query: str, at: int) -> None:
    if _ENDS_TERM.match(query, at) is None:
        raise FilterError(
            "A quoted text begins or ends inside a word",
            position=at,
            hint='Quote all of it, and write \\" for a quote inside.',
        )


def _quoted(query: str, start: int) -> tuple[str, int]:
    pieces: list[str] = []
    at = start + 1
    while True:
        end = _match_end(_QUOTED, query, at)
        pieces.append(query[at:end])
        if end + (query[end : end + 1] == "\\") >= len(query):
            raise FilterError("This quoted text does not end", position=start, hint='Add a ".')
        if query[end] == '"':
            return "".join(pieces), end + 1
        plain = _ESCAPES.get(query[end + 1])
        if plain is None:
            raise FilterError(
                "This is no escape",
                position=end,
                hint='Write \\\\ for a backslash, \\" for a quote.',
            )
        pieces.append(plain)
        at = end + 2
