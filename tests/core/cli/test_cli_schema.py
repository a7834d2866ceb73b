from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import core.model
from core.cli._event_schema import event_schema
from core.model.events import EVENT_TYPES
from tests.core.cli.conftest import Cli

COMMITTED = Path(core.model.__file__).with_name("events.schema.json")
SCHEMA = event_schema()
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
}


def misfit(value: Any, schema: dict[str, Any], at: str = "event") -> str:
    """Say where ``value`` does not fit: the part of JSON Schema that ours uses."""
    if "$ref" in schema:
        return misfit(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], at)
    if "anyOf" in schema:
        found = [misfit(value, option, at) for option in schema["anyOf"]]
        return "" if "" in found else found[0]
    if "const" in schema:
        return "" if value == schema["const"] else f"{at} is {value!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at} is {value!r}"
    kind = schema.get("type")
    if kind == "null":
        return "" if value is None else f"{at} is {value!r}"
    if kind == "object":
        return misfit_object(value, schema, at)
    if kind is not None and (not isinstance(value, TYPES[kind]) or value is None):
        return f"{at} is {value!r}"
    if kind == "array":
        return next(
            (e for i, v in enumerate(value) if (e := misfit(v, schema["items"], f"{at}[{i}]"))), ""
        )
    if schema.get("format") == "date-time":
        known = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", value)
        return "" if known else f"{at} is {value!r}"
    return ""


def misfit_object(value: Any, schema: dict[str, Any], at: str) -> str:
    if not isinstance(value, dict):
        return f"{at} is {value!r}"
    if "properties" not in schema:
        return ""
    if set(value) != set(schema["properties"]) or set(schema["required"]) != set(value):
        return f"{at} has {sorted(value)}"
    fields = schema["properties"].items()
    return next((e for name, sub in fields if (e := misfit(value[name], sub, f"{at}.{name}"))), "")


def test_committed_schema_is_current() -> None:
    assert COMMITTED.read_text() == json.dumps(SCHEMA, indent=2) + "\n"


def test_command_prints_it(cli: Cli) -> None:
    assert json.loads(cli("schema").out) == SCHEMA
    assert cli("schema", "--json").record == SCHEMA


def test_every_kind_has_its_own_schema() -> None:
    kinds = {SCHEMA["$defs"][kind.__name__]["properties"]["kind"]["const"] for kind in EVENT_TYPES}
    assert kinds == {kind.kind.value for kind in EVENT_TYPES}
    assert len(SCHEMA["oneOf"]) == len(EVENT_TYPES)
    assert "_us" not in json.dumps(SCHEMA["$defs"]["Receipt"])


@pytest.mark.parametrize("scene", ["weather", "malformed", "flaky", "denied", "thinking"])
def test_every_event_of_a_run_satisfies_the_schema(cli: Cli, scene: str) -> None:
    events = cli("run", "x", "--model", f"demo/{scene}", "--json").records
    by_kind = {
        SCHEMA["$defs"][kind.__name__]["properties"]["kind"]["const"]: kind.__name__
        for kind in EVENT_TYPES
    }
    problems = [misfit(e, SCHEMA["$defs"][by_kind[e["kind"]]], e["kind"]) for e in events]
    assert events
    assert not [problem for problem in problems if problem]


def test_schema_refuses_what_is_no_event(cli: Cli) -> None:
    event = cli("run", "x", "--dry-run", "--json").records[0]
    schema = SCHEMA["$defs"]["Started"]
    assert misfit(event, schema) == ""
    assert misfit({**event, "seq": None}, schema)
    assert misfit({**event, "kind": "tool"}, schema)
    assert misfit({**event, "at": "now"}, schema)
    assert misfit({**event, "more": 1}, schema)
