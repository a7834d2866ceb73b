r"""The one query language for steps, runs and audit.

``action:http_call_cancelled host:*.example.com since:10m -host:internal status:>=400 "text"``

* ``field:value``: a text exactly, a number, ``yes`` or ``no``, a time.
* ``*`` in a text is any run of characters, and then case does not count; ``field:*`` is any
  value at all. Only A to Z have a case here, as in SQLite.
* ``>= > <= <`` before a value; ``a..b`` with both ends included, either may be left out
  (numbers and times only). Text is ordered by code point.
* A word or a quoted text of its own is looked for inside every text field, without case.
* ``-`` or ``not`` comes before ``and`` (or nothing between two terms) before ``or``; parentheses.
* A field without a value matches nothing but a negation: ``-host:a`` has the rows without host.
* Times: ``2026-01-31``, ``today`` and ``yesterday`` are whole UTC days;
  ``2026-01-31T12:00:00+01:00`` (UTC where it names no offset) is an instant, and so is
  ``10m``: that long ago (``s m h d w``). ``since:T`` is ``>=T`` and ``until:T`` is ``<=T``
  of the first time field.
* A yes-or-no field alone asks for yes; ``failed`` is ``success:no``.
* Inside quotes nothing but ``\"``, ``\\``, ``\n``, ``\r`` and ``\t`` has a meaning.
"""

from core.filter._complete import Completion, complete
from core.filter._fields import Field, FieldType
from core.filter._filter import Filter
from core.filter._parser import MAX_DEPTH, MAX_LENGTH, MAX_TERMS, parse

__all__ = [
    "MAX_DEPTH",
    "MAX_LENGTH",
    "MAX_TERMS",
    "Completion",
    "Field",
    "FieldType",
    "Filter",
    "complete",
    "parse",
]
