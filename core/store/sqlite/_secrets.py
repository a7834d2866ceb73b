"""The SQL of the secrets. Values are encrypted before they come here."""

# ruff: noqa: S608 - statements are put together from our own constants; values are bound

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from core.model.secrets import ChainKeyRecord, SecretRecord
from core.store.protocol import KeyRotation
from core.store.sqlite._driver import Connection
from core.text import storable

_COLUMNS = (
    "name",
    "version",
    "placement",
    "field",
    "hosts",
    "expires_us",
    "description",
    "format",
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

_REWRAP = """
    UPDATE secret SET format = ?, key_id = ?, wrapped_key = ?, nonce = ?, ciphertext = ?
    WHERE name = ?
"""
SELECT_CHAIN_KEYS = (
    "SELECT key_id, wrapped_by, wrapped_key FROM chain_key ORDER BY key_id LIMIT 100000"
)
_PUT_CHAIN_KEY = "INSERT INTO chain_key (key_id, wrapped_by, wrapped_key) VALUES (?, ?, ?)"


def put(connection: Connection, record: SecretRecord) -> bool:
    """Insert a secret, or replace its version before; False if another one is there."""
    values = [getattr(record, name) for name in _COLUMNS]
    values[_COLUMNS.index("hosts")] = json.dumps(record.hosts)
    values[_COLUMNS.index("description")] = storable(record.description)
    return connection.execute(_PUT, values).rowcount > 0


def delete(connection: Connection, name: str) -> bool:
    """Delete a secret; return whether there was one."""
    return connection.execute("DELETE FROM secret WHERE name = ?", (name,)).rowcount > 0


def rewrap(connection: Connection, rotation: KeyRotation, key_id: str) -> bool:
    """Put all secrets and retired chain keys under another master key.

    Args:
        connection: inside a transaction.
        rotation: what to store.
        key_id: the chain key in use from now on; it is not retired.

    Returns:
        False if something is not what the rotation was made from; nothing was changed.

    Raises:
        ValueError: the key in use until now is not among the retired ones.
    """
    execute = connection.execute
    stored = set(execute("SELECT name, version, key_id FROM secret"))
    if stored != {(item.name, item.version, rotation.before) for item in rotation.secrets}:
        return False
    retired = {item.key_id: item for item in rotation.chain_keys if item.key_id != key_id}
    if rotation.before not in retired:
        raise ValueError("the key in use until now must be among the retired ones")
    known = dict(execute("SELECT key_id, wrapped_by FROM chain_key"))
    if known.keys() - {key_id} != retired.keys() - {rotation.before} or any(
        wrapped_by != rotation.before for wrapped_by in known.values()
    ):
        return False
    for record in rotation.secrets:
        execute(
            _REWRAP,
            (
                record.format,
                record.key_id,
                record.wrapped_key,
                record.nonce,
                record.ciphertext,
                record.name,
            ),
        )
    execute("DELETE FROM chain_key")
    for item in retired.values():
        execute(_PUT_CHAIN_KEY, (item.key_id, item.wrapped_by, item.wrapped_key))
    return True


def from_row(row: Sequence[Any]) -> SecretRecord:
    """Build a record from its columns."""
    values = dict(zip(_COLUMNS, row, strict=True))
    values["hosts"] = tuple(json.loads(values["hosts"]))
    return SecretRecord(**values)


def chain_key_from_row(row: Sequence[Any]) -> ChainKeyRecord:
    """Build a retired chain key's record from its columns."""
    return ChainKeyRecord(key_id=row[0], wrapped_by=row[1], wrapped_key=row[2])
