"""The SQL of the secrets. Values are encrypted before they come here."""

# ruff: noqa: S608 - statements are put together from our own constants; values are bound

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from core.model.secrets import SecretRecord
from core.store.sqlite._driver import Connection

_COLUMNS = (
    "name",
    "version",
    "placement",
    "field",
    "hosts",
    "key_id",
    "wrapped_key",
    "nonce",
    "ciphertext",
    "created_us",
    "updated_us",
)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM secret"
SELECT_ONE = f"{_SELECT} WHERE name = ? LIMIT 1"
SELECT_ALL = f"{_SELECT} ORDER BY name LIMIT 100000"
_PUT = f"""
    INSERT INTO secret ({", ".join(_COLUMNS)})
    VALUES ({", ".join("?" * len(_COLUMNS))})
    ON CONFLICT (name) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)}
    WHERE version = excluded.version - 1
"""


def put(connection: Connection, record: SecretRecord) -> bool:
    """Insert a secret, or replace its version before; False if another one is there."""
    values = [getattr(record, name) for name in _COLUMNS]
    values[_COLUMNS.index("hosts")] = json.dumps(record.hosts)
    return connection.execute(_PUT, values).rowcount > 0


def delete(connection: Connection, name: str) -> bool:
    """Delete a secret; return whether there was one."""
    return connection.execute("DELETE FROM secret WHERE name = ?", (name,)).rowcount > 0


def from_row(row: Sequence[Any]) -> SecretRecord:
    """Build a record from its columns."""
    values = dict(zip(_COLUMNS, row, strict=True))
    values["hosts"] = tuple(json.loads(values["hosts"]))
    return SecretRecord(**values)
