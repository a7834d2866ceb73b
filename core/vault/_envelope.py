"""Envelope encryption: each version of a secret under a data key of its own.

The value is encrypted with AES-256-GCM under a random data key that encrypts nothing
else; the data key is encrypted with AES-256-GCM under the wrapping key, which is derived
from the master key and the database's id. Both bind, as associated data, everything that
decides where the secret may go: moving a ciphertext to another name, putting an older
version back, binding a secret to other hosts or prolonging it makes it unreadable.

The data key binds the master key's id as well, the value does not: putting a secret under
another master key changes the wrapped data key alone. Format 1, of earlier databases, bound
that id in both; such a secret is encrypted anew.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import replace

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from core.errors import SecretUnavailable
from core.keys import MasterKey, unwrap_key, wrap_key
from core.model.secrets import SecretRecord
from core.vault._secret import Secret

FORMAT = 2
_WRAP_LABEL = "stepbrake vault wrapping key v1"
_FIRST_TAG = b"stepbrake secret v1"
_VALUE_TAG = b"stepbrake secret v2"
_KEY_TAG = b"stepbrake data key v2"
_NONCE_BYTES = 12
_KEY_BITS = 256

_NOT_OURS = (InvalidTag, ValueError, TypeError, AttributeError, struct.error, OverflowError)


def seal(record: SecretRecord, value: str, master: MasterKey, database_id: str) -> SecretRecord:
    """Return ``record`` holding ``value`` encrypted; its cryptographic fields are replaced."""
    nonce, data_key = os.urandom(_NONCE_BYTES), AESGCM.generate_key(_KEY_BITS)
    record = replace(record, format=FORMAT, key_id=master.key_id, nonce=nonce)
    return replace(
        record,
        wrapped_key=wrap_key(
            data_key,
            _bound_to_key(record),
            master=master,
            label=_WRAP_LABEL,
            database_id=database_id,
        ),
        ciphertext=AESGCM(data_key).encrypt(nonce, value.encode(), _bound_to_value(record)),
    )


def unseal(record: SecretRecord, master: MasterKey, database_id: str) -> Secret:
    """Return the value of ``record``.

    Raises:
        SecretUnavailable: with code ``secret_damaged``: the record was changed, or another
            master key sealed it.
    """
    try:
        cipher = AESGCM(_data_key(record, master, database_id))
        value = cipher.decrypt(record.nonce, record.ciphertext, _bound_to_value(record))
        return Secret(value.decode())
    except _NOT_OURS:
        raise _damaged(record) from None


def rewrap(
    record: SecretRecord, before: MasterKey, after: MasterKey, database_id: str
) -> SecretRecord:
    """Return ``record`` under another master key; name, version and value stay.

    Raises:
        SecretUnavailable: as ``unseal``.
    """
    value = unseal(record, before, database_id)  # what cannot be read must not look well
    if record.format != FORMAT:
        return seal(record, value.reveal(), after, database_id)
    data_key = _data_key(record, before, database_id)
    moved = replace(record, key_id=after.key_id)
    wrapped = wrap_key(
        data_key, _bound_to_key(moved), master=after, label=_WRAP_LABEL, database_id=database_id
    )
    return replace(moved, wrapped_key=wrapped)


def _data_key(record: SecretRecord, master: MasterKey, database_id: str) -> bytes:
    if record.key_id != master.key_id:
        raise ValueError("another master key")
    return unwrap_key(
        record.wrapped_key,
        _bound_to_key(record),
        master=master,
        label=_WRAP_LABEL,
        database_id=database_id,
    )


def _bound_to_key(record: SecretRecord) -> bytes:
    if record.format == 1:
        return _first_format(record)
    return _frame(_KEY_TAG, record, (record.key_id, *_texts(record)))


def _bound_to_value(record: SecretRecord) -> bytes:
    if record.format == 1:
        return _first_format(record)
    return _frame(_VALUE_TAG, record, _texts(record))


def _texts(record: SecretRecord) -> tuple[str, ...]:
    if record.format != FORMAT:
        raise ValueError("a format of a later version")
    expires = "" if record.expires_us is None else str(record.expires_us)
    return (record.name, record.placement, record.field, expires, *record.hosts)


def _first_format(record: SecretRecord) -> bytes:
    if record.expires_us is not None:
        raise ValueError("the first format knew of no expiry")
    texts = (record.name, record.key_id, record.placement, record.field, *record.hosts)
    return _frame(_FIRST_TAG, record, texts)


def _frame(tag: bytes, record: SecretRecord, texts: Sequence[str]) -> bytes:
    parts = [tag, struct.pack(">QI", record.version, len(texts))]
    for text in texts:
        data = text.encode()
        parts.append(struct.pack(">I", len(data)) + data)
    return b"".join(parts)


def _damaged(record: SecretRecord) -> SecretUnavailable:
    return SecretUnavailable(
        "The stored secret was changed outside the vault",
        code="secret_damaged",
        where=record.name,
        hint="Set the secret again.",
    )
