"""Which fields a query may name, and what each of them is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")


class FieldType(StrEnum):
    """What a field holds."""

    TEXT = "text"
    INT = "int"
    BOOL = "bool"
    TIME = "time"
    """UTC microseconds since the epoch, as an integer."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field whose column has another name, or is never null.

    Attributes:
        type: what it holds.
        column: its name in SQL, and as a key or an attribute of a row; None: as in the query.
        null: whether a row may have no value there.
    """

    type: FieldType | str
    column: str | None = None
    null: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """A field as the parser knows it."""

    name: str
    type: FieldType
    column: str
    null: bool


@dataclass(frozen=True, slots=True)
class Name:
    """A word that may stand before the colon.

    Attributes:
        field: the field it means.
        operator: the comparison it brings along, or empty.
        inverted: whether yes means the field's no.
    """

    field: Known
    operator: str = ""
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """All names, and the fields that words of their own look at.

    Attributes:
        names: from what may stand before the colon to what it means.
        text: the text fields.
        time: the field that ``since`` and ``until`` mean, None if there is none.
    """

    names: Mapping[str, Name]
    text: tuple[Known, ...]
    time: Known | None


def schema(fields: Mapping[str, str | Field]) -> Schema:
    """Return the names that a caller's ``fields`` allow.

    Raises:
        ValueError: a type is none of ``FieldType``, or a column is no identifier.
    """
    known = [_known(name, field) for name, field in fields.items()]
    names = {field.name: Name(field) for field in known}
    time = next((field for field in known if field.type is FieldType.TIME), None)
    if time is not None:
        names.setdefault("since", Name(time, operator=">="))
        names.setdefault("until", Name(time, operator="<="))
    success = names.get("success")
    if success is not None and success.field.type is FieldType.BOOL:
        names.setdefault("failed", Name(success.field, inverted=True))
    text = tuple(field for field in known if field.type is FieldType.TEXT)
    return Schema(names, text, time)


def _known(name: str, field: str | Field) -> Known:
    if not isinstance(field, Field):
        field = Field(field)
    column = field.column or name
    if _COLUMN.fullmatch(column) is None:
        raise ValueError(f"{column!r} is no name of a column")
    return Known(name, FieldType(field.type), column, field.null)
