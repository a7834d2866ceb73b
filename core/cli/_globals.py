"""Options that stand anywhere on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Globals:
    """What every command gets.

    Attributes:
        db: the store, a path or URL; None: ``PLAYGROUND_DB``, else the default.
        config: the configuration file; None: ``PLAYGROUND_CONFIG``, else the default.
        json: one JSON object a line on stdout, and nothing else.
    """

    db: str | None = None
    config: str | None = None
    json: bool = False


def hoist(argv: Sequence[str]) -> tuple[Globals, list[str]]:
    """Take the global options out of ``argv``, wherever they stand before ``--``.

    Raises:
        UsageError: an option lacks its value, or ``--json`` has one.
    """
    values: dict[str, str] = {}
    as_json = False
    rest: list[str] = []
    waiting = iter(argv)
    for argument in waiting:
        option, equals, value = argument.partition("=")
        if argument == "--":
            rest += [argument, *waiting]
        elif option in ("--db", "--config"):
            values[option] = value if equals else next(waiting, "")
            if not values[option]:
                raise UsageError(f"Option {option} needs a value")
        elif argument == "--json":
            as_json = True
        elif option == "--json":
            raise UsageError("Option --json takes no value")
        else:
            rest.append(argument)
    return Globals(db=values.get("--db"), config=values.get("--config"), json=as_json), rest
