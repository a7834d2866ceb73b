"""What the value of a term means, by the type of its field."""

from __future__ import annotations

import re
from collections.abc import Callable

from core.errors import FilterError
from core.filter._fields import FieldType, Name
from core.filter._lexer import Token, quote
from core.filter._nodes import Term, Test
from core.filter._pattern import Pattern
from core.filter._times import Moment, read_time

_INT = re.compile(r"[+-]?[0-9]{1,19}")
_LARGEST = 2**63
_BOOLS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_HINTS = {
    FieldType.TEXT: "",
    FieldType.INT: "Write a whole number: 400, >=400 or 400..499.",
    FieldType.BOOL: "Write yes or no.",
    FieldType.TIME: "Write 2026-01-31, 2026-01-31T12:00:00Z, today, yesterday, or a span back"
    " from now: 10m, 2h, 3d.",
}
_WANTED = {
    FieldType.TEXT: "text",
    FieldType.INT: "a number",
    FieldType.BOOL: "yes or no",
    FieldType.TIME: "a time",
}

_Meaning = tuple[tuple[Test, ...], str]


def term(name: Name, token: Token, now_us: int) -> Term:
    """Return the term of a ``field:value`` token.

    Raises:
        FilterError: the field takes no such value.
    """
    field = name.field
    if name.operator and token.operator:
        raise FilterError(
            f"{token.name} is a comparison already",
            position=token.value_start - len(token.operator),
            hint=f"Write {token.name}:10m, or {field.name}:{token.operator}10m.",
        )
    if not token.value and not token.quoted:
        raise FilterError(
            f"{token.name}: has no value", position=token.value_start, hint=_HINTS[field.type]
        )
    if token.value == "*" and not (token.quoted or token.operator or name.operator):
        return Term(field, (), f"{field.name}:*")
    tests, text = _READERS[field.type](name, token, now_us)
    return Term(field, tests, f"{field.name}:{text}")


def _text(name: Name, token: Token, _now_us: int) -> _Meaning:
    value = token.value
    if token.quoted:
        return (Test(token.operator or "=", value),), token.operator + quote(value)
    if "*" in value:
        if token.operator:
            raise _wrong(name, token, "A * cannot be compared", "Quote it if it is meant as it is.")
        return (Test("=", Pattern.glob(value)),), value
    if ".." in value:
        written = f'{name.field.name}:"…"'
        raise _wrong(name, token, "A text has no ranges", f"Quote a text that has dots: {written}.")
    return (Test(token.operator or "=", value),), token.operator + value


def _bool(name: Name, token: Token, _now_us: int) -> _Meaning:
    value = _BOOLS.get(token.value.lower())
    if value is None or token.operator:
        raise _wrong(name, token)
    value ^= name.inverted
    return (Test("=", value),), "yes" if value else "no"


def _int(name: Name, token: Token, _now_us: int) -> _Meaning:
    ends = _ends(token)
    if ends is None:
        value = _number(name, token, token.value)
        return (Test(token.operator or "=", value),), f"{token.operator}{value}"
    low, high = (_number(name, token, end) if end else None for end in ends)
    _check_order(token, low is None or high is None or low <= high)
    both = ((">=", low), ("<=", high))
    tests = tuple(Test(sign, end) for sign, end in both if end is not None)
    return tests, "..".join("" if end is None else str(end) for end in (low, high))


def _time(name: Name, token: Token, now_us: int) -> _Meaning:
    comparison = token.operator or name.operator
    ends = None if name.operator else _ends(token)
    if ends is not None:
        low, high = (_moment(name, token, end, now_us) if end else None for end in ends)
        _check_order(token, low is None or high is None or low.start < high.end)
        tests = () if low is None else _time_tests(">=", low)
        tests += () if high is None else _time_tests("<=", high)
        return tests, token.value
    moment = _moment(name, token, token.value, now_us)
    if moment.is_ago and not comparison:
        raise _wrong(
            name,
            token,
            "A span back from now needs a comparison",
            f"Write since:{token.value} or {token.name}:>={token.value}.",
        )
    value = quote(token.value) if " " in token.value else token.value
    return _time_tests(comparison, moment), comparison + value


def _time_tests(comparison: str, moment: Moment) -> tuple[Test, ...]:
    match comparison:
        case ">=":
            return (Test(">=", moment.start),)
        case ">":
            return (Test(">=", moment.end),)
        case "<=":
            return (Test("<", moment.end),)
        case "<":
            return (Test("<", moment.start),)
        case _ if moment.is_day:
            return (Test(">=", moment.start), Test("<", moment.end))
        case _:
            return (Test("=", moment.start),)


def _ends(token: Token) -> tuple[str, str] | None:
    """Return both ends of a range, one of which may be empty; None if it is no range."""
    if token.quoted or token.operator or ".." not in token.value:
        return None
    low, _, high = token.value.partition("..")
    if not low and not high:
        raise FilterError(
            "This range has no ends", position=token.value_start, hint="Write 1..9, 1.. or ..9."
        )
    return low, high


def _check_order(token: Token, is_ordered: bool) -> None:
    if not is_ordered:
        raise FilterError(
            "This range ends before it begins",
            position=token.value_start,
            hint="Write the lower end, the earlier time, first.",
        )


def _number(name: Name, token: Token, text: str) -> int:
    if _INT.fullmatch(text) is None or not -_LARGEST <= int(text) < _LARGEST:
        raise _wrong(name, token)
    return int(text)


def _moment(name: Name, token: Token, text: str, now_us: int) -> Moment:
    moment = read_time(text, now_us)
    if moment is None:
        raise _wrong(name, token)
    return moment


def _wrong(name: Name, token: Token, what: str = "", hint: str = "") -> FilterError:
    kind = name.field.type
    return FilterError(
        what or f"{token.name} takes {_WANTED[kind]}",
        position=token.value_start - (len(token.operator) if kind is FieldType.BOOL else 0),
        hint=hint or _HINTS[kind],
    )


_READERS: dict[FieldType, Callable[[Name, Token, int], _Meaning]] = {
    FieldType.TEXT: _text,
    FieldType.INT: _int,
    FieldType.BOOL: _bool,
    FieldType.TIME: _time,
}
