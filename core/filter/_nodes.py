"""What a query means, as a tree that can be asked, written as SQL and as text.

No comparison ever sees a null, neither here nor in SQL, so that each is true or false and
``NOT`` turns one into the other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from core.filter._fields import Known
from core.filter._pattern import Pattern
from core.filter._times import microseconds

Value = int | str | bool
Get = Callable[[str], Any]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


class Node(Protocol):
    """A condition on a row."""

    def matches(self, get: Get) -> bool:
        """Return whether the row whose values ``get`` returns by column fits."""

    def sql(self, parameters: list[Value]) -> str:
        """Return the condition as SQL; the values of its ``?`` go to ``parameters``."""

    def fields(self) -> Iterator[str]:
        """Yield the names of the fields it looks at."""

    def weight(self) -> int:
        """Return how much of its stack SQLite's parser needs for the SQL, a term's aside."""


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison with a value that is not null.

    Attributes:
        operator: ``=``, ``>=``, ``>``, ``<=``, ``<``; a pattern's is ``=``.
        value: what to compare with.
    """

    __test__ = False  # the test runner collects by name

    operator: str
    value: Value | Pattern

    def matches(self, value: Any) -> bool:
        """Return whether a row's ``value`` fits."""
        if isinstance(self.value, Pattern):
            return self.value.matches(value)
        return _COMPARE[self.operator](value, self.value)

    def sql(self, column: str, parameters: list[Value]) -> str:
        """Return the comparison with ``column`` as SQL."""
        if isinstance(self.value, Pattern):
            parameters.append(self.value.like())
            return f"lower({column}) LIKE ? ESCAPE '!'"
        parameters.append(self.value)
        return f"{column} {self.operator} ?"


@dataclass(frozen=True, slots=True)
class Term:
    """A field has a value, and all ``tests`` hold for it.

    Attributes:
        field: the field.
        tests: none: any value will do.
        text: the term as a query has it.
    """

    field: Known
    tests: tuple[Test, ...]
    text: str

    def matches(self, get: Get) -> bool:
        """Return whether the row fits."""
        value = get(self.field.column)
        if isinstance(value, datetime):
            value = microseconds(value)
        return value is not None and all(test.matches(value) for test in self.tests)

    def sql(self, parameters: list[Value]) -> str:
        """Return the condition as SQL."""
        column = self.field.column
        parts = [f"{column} IS NOT NULL"] if self.field.null else []
        parts += [test.sql(column, parameters) for test in self.tests]
        return _joined("AND", parts) if parts else "1 = 1"

    def fields(self) -> Iterator[str]:
        """Yield the field's name."""
        yield self.field.name

    def weight(self) -> int:
        """Return nothing: a term nests nothing."""
        return 0

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Search:
    """One of the text fields fits a pattern.

    Attributes:
        among: the text fields.
        test: the comparison with the pattern.
        text: the term as a query has it.
    """

    among: tuple[Known, ...]
    test: Test
    text: str

    def matches(self, get: Get) -> bool:
        """Return whether the row fits."""
        values = (get(field.column) for field in self.among)
        return any(value is not None and self.test.matches(value) for value in values)

    def sql(self, parameters: list[Value]) -> str:
        """Return the condition as SQL."""
        terms = [Term(field, (self.test,), "").sql(parameters) for field in self.among]
        return _joined("OR", terms)

    def fields(self) -> Iterator[str]:
        """Yield the names of all text fields."""
        yield from (field.name for field in self.among)

    def weight(self) -> int:
        """Return nothing: a term nests nothing."""
        return 0

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Not:
    """The row does not fit ``item``."""

    item: Node

    def matches(self, get: Get) -> bool:
        """Return whether the row fits."""
        return not self.item.matches(get)

    def sql(self, parameters: list[Value]) -> str:
        """Return the condition as SQL."""
        return f"NOT {self.item.sql(parameters)}"

    def fields(self) -> Iterator[str]:
        """Yield the names of the item's fields."""
        yield from self.item.fields()

    def weight(self) -> int:
        """Return the item's weight and that of ``NOT``."""
        return 1 + self.item.weight()

    def __str__(self) -> str:
        inner = str(self.item)
        return f"-({inner})" if isinstance(self.item, And | Or) else f"-{inner}"


@dataclass(frozen=True, slots=True)
class _Several:
    """At least two items, none of them of the same class."""

    items: tuple[Node, ...]

    def fields(self) -> Iterator[str]:
        """Yield the names of the items' fields."""
        for item in self.items:
            yield from item.fields()

    def weight(self) -> int:
        """Return what the heaviest items need, one of them right behind the parenthesis."""
        return _weight(self.items)

    def _written(self, parameters: list[Value]) -> list[str]:
        return [item.sql(parameters) for item in _by_weight(self.items)]


@dataclass(frozen=True, slots=True)
class And(_Several):
    """The row fits every item."""

    def matches(self, get: Get) -> bool:
        """Return whether the row fits."""
        return all(item.matches(get) for item in self.items)

    def sql(self, parameters: list[Value]) -> str:
        """Return the condition as SQL."""
        return _joined("AND", self._written(parameters))

    def __str__(self) -> str:
        return " ".join(f"({item})" if isinstance(item, Or) else str(item) for item in self.items)


@dataclass(frozen=True, slots=True)
class Or(_Several):
    """The row fits an item."""

    def matches(self, get: Get) -> bool:
        """Return whether the row fits."""
        return any(item.matches(get) for item in self.items)

    def sql(self, parameters: list[Value]) -> str:
        """Return the condition as SQL."""
        return _joined("OR", self._written(parameters))

    def __str__(self) -> str:
        return " or ".join(map(str, self.items))


def _by_weight(items: tuple[Node, ...]) -> list[Node]:
    """Return the heaviest first: what is nested there has nothing on the stack before it."""
    return sorted(items, key=lambda item: -item.weight())


def _weight(items: tuple[Node, ...]) -> int:
    first, second, *_ = sorted((item.weight() for item in items), reverse=True)
    return 1 + max(first, 2 + second)


def _joined(word: str, parts: Sequence[str]) -> str:
    return f"({f' {word} '.join(parts)})"
