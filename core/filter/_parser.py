"""From a query's text to a ``Filter``: a recursive descent over the tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from core.errors import FilterError, did_you_mean
from core.filter._fields import Field, FieldType, Name, Schema, schema
from core.filter._filter import Filter
from core.filter._lexer import Kind, Token, quote, tokens
from core.filter._nodes import And, Node, Not, Or, Search, Term, Test
from core.filter._pattern import Pattern
from core.filter._times import microseconds
from core.filter._values import term

# Whatever parses must run. SQLite's own bounds are 50,000 bytes of a LIKE pattern, 32,766
# parameters, expressions 1,000 deep (each AND nests its left side) and, before 3.46, a parser
# stack of 100. Filters over at most 40 text fields stay within them.
MAX_LENGTH = 10_240
MAX_TERMS = 800
MAX_DEPTH = 50
_MAX_WEIGHT = 60

_LONGEST_NAME = 64  # characters of an unknown name that are shown and compared
_COMPARISON = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)(>=|<=|>|<|=)")


def parse(query: str, fields: Mapping[str, str | Field], now: datetime | int) -> Filter:
    """Return the filter that a query asks for; an empty query's matches every row.

    Args:
        query: the text, in the language that ``core.filter`` describes.
        fields: from a field's name to its type (``text``, ``int``, ``bool``, ``time``), or
            to a ``Field`` that says more.
        now: what relative times count back from: UTC microseconds since the epoch, or a
            ``datetime`` (UTC where it has no offset).

    Raises:
        FilterError: the query does not parse; ``position`` is the offset of the first
            character that is wrong, the query's length if something is missing at its end.
        ValueError: ``fields`` holds an unknown type or a column that is no identifier.
    """
    known = schema(fields)
    if len(query) > MAX_LENGTH:
        raise _too_long(query)
    found = Filter(_Parser(query, known, microseconds(now)).parse(), known.time)
    if len(str(found)) > MAX_LENGTH:  # else its own text would not parse
        raise _too_long(query)
    return found


class _Parser:
    def __init__(self, query: str, known: Schema, now_us: int) -> None:
        self._known = known
        self._now_us = now_us
        self._tokens = tokens(query)
        self._token = next(self._tokens)
        self._terms = 0
        self._depth = 0
        self._deepest = (0, 0)  # how deep, and where that parenthesis is

    def parse(self) -> Node | None:
        if self._token.kind is Kind.END:
            return None
        node = self._or()
        if self._token.kind is Kind.CLOSE:
            raise FilterError("This parenthesis closes nothing", position=self._token.start)
        if node.weight() > _MAX_WEIGHT:
            raise FilterError(
                "Parentheses nest too deep here",
                position=self._deepest[1],
                hint="Take some apart: a (b (c)) is a b c.",
            )
        return node

    def _take(self) -> Token:
        token = self._token
        if token.kind is not Kind.END:
            self._token = next(self._tokens)
        return token

    def _or(self) -> Node:
        items = [self._and()]
        while self._token.kind is Kind.OR:
            self._take()
            items.append(self._and())
        if len(items) == 1:
            return items[0]
        return Or(tuple(part for item in items for part in _parts(item, Or)))

    def _and(self) -> Node:
        items = [self._not()]
        while self._token.kind not in (Kind.OR, Kind.CLOSE, Kind.END):
            if self._token.kind is Kind.AND:
                self._take()
            items.append(self._not())
        if len(items) == 1:
            return items[0]
        return And(tuple(part for item in items for part in _parts(item, And)))

    def _not(self) -> Node:
        negated = False
        while self._token.kind is Kind.NOT:
            self._take()
            negated = not negated
        node = self._primary()
        if not negated:
            return node
        return node.item if isinstance(node, Not) else Not(node)

    def _primary(self) -> Node:
        token = self._take()
        if token.kind is Kind.TERM:
            self._terms += 1
            if self._terms > MAX_TERMS:
                raise FilterError(f"A filter has at most {MAX_TERMS:,} terms", position=token.start)
            return self._search(token) if token.name is None else self._field(token, token.name)
        if token.kind is not Kind.OPEN:
            raise FilterError(
                "A term is missing here",
                position=token.start,
                hint='Write field:value or a word; quote "and", "or", "not" to look for them.',
            )
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise FilterError(f"Parentheses nest at most {MAX_DEPTH} deep", position=token.start)
        if self._depth > self._deepest[0]:
            self._deepest = (self._depth, token.start)
        node = self._or()
        if self._take().kind is not Kind.CLOSE:
            raise FilterError(
                "This parenthesis is never closed", position=token.start, hint="Add a )."
            )
        self._depth -= 1
        return node

    def _field(self, token: Token, written: str) -> Term:
        name = self._known.names.get(written)
        if name is None:
            shown = written[:_LONGEST_NAME]
            raise FilterError(
                f"Unknown field “{shown}”" if shown else "The field's name is missing",
                position=token.start,
                hint=did_you_mean(shown, self._known.names)
                + " Quote a text that has a colon to look for it.",
            )
        return term(name, token, self._now_us)

    def _search(self, token: Token) -> Node:
        word = token.value
        if not token.quoted:
            name = self._known.names.get(word)
            if name is not None and name.field.type is FieldType.BOOL:
                return _yes(name)
            self._refuse_comparison(token)
        if not word:
            raise FilterError("There is no text in these quotes", position=token.start)
        if not self._known.text:
            raise FilterError(
                "There is no text to look into", position=token.start, hint="Write field:value."
            )
        if token.quoted:
            pattern, text = Pattern.inside(word), quote(word)
        else:
            pattern, text = Pattern.glob(f"*{word}*"), word
        return Search(self._known.text, Test("=", pattern), text)

    def _refuse_comparison(self, token: Token) -> None:
        found = _COMPARISON.match(token.value)
        if found is not None and found[1] in self._known.names:
            comparison = found[2].removeprefix("=")
            raise FilterError(
                "A colon is missing after the field",
                position=token.start + found.end(1),
                hint=f"Write {found[1]}:{comparison}VALUE, or quote it to look for this text.",
            )


def _too_long(query: str) -> FilterError:
    position = min(len(query), MAX_LENGTH)
    return FilterError(f"A filter has at most {MAX_LENGTH:,} characters", position=position)


def _yes(name: Name) -> Term:
    text = f"{name.field.name}:{'no' if name.inverted else 'yes'}"
    return Term(name.field, (Test("=", not name.inverted),), text)


def _parts(node: Node, kind: type[And] | type[Or]) -> tuple[Node, ...]:
    return node.items if isinstance(node, kind) else (node,)
