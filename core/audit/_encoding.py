"""The bytes of a row that the chain is made of. Final: later versions must read them.

``mac = HMAC-SHA256(chain key, previous mac ‖ row)``, the first row's previous being
``genesis``. A row is, big-endian throughout::

    "AUD1"  u64 seq  i64 at  text action  u32 success (0 or 1)  u32 status
    text method  host  path  credential  run_id  step  call_id  actor  message  key_id

where ``at`` is UTC microseconds and a text is ``0x00`` for null, else ``0x01``, a u32
length in bytes and its UTF-8. No two rows have the same bytes.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace
from typing import Any

from core.model.audit import AuditEntry
from core.model.words import AuditAction
from core.text import storable

# A row as a store keeps it: seq, at, action, success, status, method, host, path,
# credential, run_id, step, call_id, actor, message, key_id, mac.
StoredRow = tuple[Any, ...]

_TAG = b"AUD1"
_NULL = b"\x00"
_head = struct.Struct(">4sQq").pack
_numbers = struct.Struct(">II").pack
_length = struct.Struct(">cI").pack

_TEXTS = ("method", "host", "path", "credential", "run_id", "step", "call_id", "actor", "message")
_MAX_TIME = 2**63
_MAX_FRAMES = 1024


def _frame(value: str | None) -> bytes:
    if value is None:
        return _NULL
    data = value.encode()
    return _length(b"\x01", len(data)) + data


# The same few texts come again in almost every row. A plain dict: a subclass that fills
# itself is slower to look up in.
_frames: dict[str | None, bytes] = {}


def encode(previous: bytes, seq: int, row: StoredRow) -> bytes:
    """Return what a row's mac covers: the mac before it, and the row's bytes.

    Args:
        previous: the mac of the row before.
        seq: position in the log, from 1.
        row: the row as it is stored; its own seq and mac are not looked at.

    Raises:
        ValueError, TypeError, AttributeError, struct.error: a value no sealed row can have.
    """
    (
        _seq,
        at_us,
        action,
        success,
        status,
        method,
        host,
        path,
        credential,
        run_id,
        step,
        call_id,
        actor,
        message,
        key_id,
        _mac,
    ) = row
    frames = _frames
    # A call's id never comes again.
    call = call_id.encode() if call_id is not None else None
    while True:
        try:
            return b"".join(
                (
                    previous,
                    _head(_TAG, seq, at_us),
                    frames[action],
                    _numbers(success, status),
                    frames[method],
                    frames[host],
                    frames[path],
                    frames[credential],
                    frames[run_id],
                    frames[step],
                    _NULL if call is None else _length(b"\x01", len(call)) + call,
                    frames[actor],
                    frames[message],
                    frames[key_id],
                )
            )
        except KeyError as missing:
            text = missing.args[0]
            if len(frames) >= _MAX_FRAMES:
                frames.clear()
            frames[text] = _frame(text)


def genesis(database_id: str) -> bytes:
    """Return what stands before the first row: SHA-256 of the tag and the database's id."""
    return hashlib.sha256(_TAG + database_id.encode()).digest()


def normalised(entry: AuditEntry) -> AuditEntry:
    """Return ``entry`` as a store keeps it: NUL and lone surrogates become U+FFFD.

    Raises:
        TypeError: a field has another type than its own; the action is no ``AuditAction``.
        ValueError: a number is out of range.
    """
    if not isinstance(entry.action, AuditAction):
        raise TypeError("an audit row's action must be an AuditAction")
    if type(entry.success) is not bool:
        raise TypeError("success must be a bool")
    if type(entry.at_us) is not int or type(entry.status) is not int:
        raise TypeError("at_us and status must be ints")
    if not -_MAX_TIME <= entry.at_us < _MAX_TIME:
        raise ValueError("at_us must fit in 64 bits")
    if not 0 <= entry.status <= 999:
        raise ValueError("status must be between 0 and 999")
    changed: dict[str, Any] = {}
    for name in _TEXTS:
        value = getattr(entry, name)
        if value is None and name != "actor":
            continue
        if type(value) is not str:
            raise TypeError(f"{name} must be text")
        clean = storable(value)
        if clean != value:
            changed[name] = clean
    return replace(entry, **changed) if changed else entry
