"""A parsed query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.filter._fields import FieldType, Known
from core.filter._nodes import And, Node, Term, Test, Value
from core.filter._pattern import Pattern


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows a query asks for. False if it asks for all; its text parses to itself.

    Attributes:
        root: the condition, None for an empty query.
        time: the field that ``since`` and ``until`` mean.
    """

    root: Node | None
    time: Known | None = None

    def __bool__(self) -> bool:
        return self.root is not None

    def __str__(self) -> str:
        return "" if self.root is None else str(self.root)

    def matches(self, row: Mapping[str, Any] | object) -> bool:
        """Return whether a row fits.

        Args:
            row: a mapping or an object with the columns as keys or attributes; what it lacks
                is null. Times are UTC microseconds or ``datetime``.
        """
        if self.root is None:
            return True
        if isinstance(row, Mapping):
            return self.root.matches(row.get)
        return self.root.matches(lambda column: getattr(row, column, None))

    def sql(self) -> tuple[str, list[Value]]:
        """Return the condition for ``WHERE`` and the values of its ``?``, in their order.

        The text holds names of columns and keywords only and runs on SQLite and on PostgreSQL,
        there with columns of ``COLLATE "C"``. It is safe beside ``AND``. A ``?`` stands nowhere
        but for a value: a driver that wants ``$1`` or ``%s`` gets it by replacing each.
        """
        parameters: list[Value] = []
        return ("1 = 1" if self.root is None else self.root.sql(parameters)), parameters

    @property
    def fields(self) -> frozenset[str]:
        """The fields it looks at, by their own names, not ``since``, ``until``, ``failed``."""
        return frozenset() if self.root is None else frozenset(self.root.fields())

    @property
    def equalities(self) -> dict[str, Value]:
        """What fields other than times must equal in every row that fits, for an index."""
        found: dict[str, Value] = {}
        for field, test in self._required():
            if isinstance(test.value, Pattern) or field.type is FieldType.TIME:
                continue
            if test.operator == "=":
                found.setdefault(field.name, test.value)
        return found

    @property
    def since_us(self) -> int | None:
        """No row that fits is before this, in UTC microseconds; None: no bound."""
        values = [value for sign, value in self._times() if sign in ("=", ">=")]
        return max(values, default=None)

    @property
    def until_us(self) -> int | None:
        """Every row that fits is before this, in UTC microseconds; None: no bound."""
        values = [value + (sign == "=") for sign, value in self._times() if sign in ("=", "<")]
        return min(values, default=None)

    def _times(self) -> Iterator[tuple[str, int]]:
        for field, test in self._required():
            if field == self.time and isinstance(test.value, int):
                yield test.operator, test.value

    def _required(self) -> Iterator[tuple[Known, Test]]:
        items = self.root.items if isinstance(self.root, And) else (self.root,)
        for item in items:
            if isinstance(item, Term):
                for test in item.tests:
                    yield item.field, test
