"""The JSON schema of events as ``to_json`` gives them, made from their types."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from core.model.events import EVENT_TYPES, Delta, Event, Output
from core.model.receipts import level_name
from core.model.words import CancelLevel

_TIME = {"type": "string", "format": "date-time"}
_DROPPED = ("title", "default")
_MODE: JsonSchemaMode = "serialization"


def event_schema() -> dict[str, Any]:
    """Return a schema (draft 2020-12) that each event of a run satisfies.

    Every field is always there. Consumers have to expect new kinds and new fields.
    """
    inputs = [(kind.__name__, _MODE, TypeAdapter(kind)) for kind in EVENT_TYPES]
    _, bundle = TypeAdapter.json_schemas(inputs)
    found = bundle["$defs"]
    events = {kind.__name__: _event(kind, found.pop(kind.__name__)) for kind in EVENT_TYPES}
    found["CancelLevel"] = {"type": "string", "enum": [level_name(level) for level in CancelLevel]}
    others = {name: _object(schema) for name, schema in found.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Events of a run",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in events],
        "$defs": {**events, **dict(sorted(others.items()))},
    }


def _event(kind: type[Event], schema: dict[str, Any]) -> dict[str, Any]:
    plain = _object(schema)
    properties = plain["properties"]
    transient = kind in (Delta, Output)
    plain["properties"] = {
        "run_id": properties.pop("run_id"),
        **properties,
        "seq": {"type": "null"} if transient else {"type": "integer", "minimum": 0},
        "kind": {"const": kind.kind.value},
    }
    plain["required"] = list(plain["properties"])
    return plain


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a type's schema with the names and the times of the public form."""
    plain = {name: value for name, value in schema.items() if name not in _DROPPED}
    if "description" in plain:
        plain["description"] = plain["description"].partition("\n\n")[0].replace("\n", " ")
    if "properties" in plain:
        plain["properties"] = {
            name.removesuffix("_us"): _TIME if name.endswith("_us") else _field(value)
            for name, value in plain["properties"].items()
        }
        plain["required"] = list(plain["properties"])
    return plain


def _field(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: _field(value) for name, value in schema.items() if name not in _DROPPED}
    if isinstance(schema, list):
        return [_field(item) for item in schema]
    return schema
