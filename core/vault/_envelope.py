"""Envelope encryption: each version of a secret under a data key of its own.

The value is encrypted with AES-256-GCM under a random data key that encrypts nothing
else; the data key is encrypted with AES-256-GCM under the wrapping key, which is derived
from the master key and the database's id. Both bind, as associated data, everything the
record says about the secret: moving a ciphertext to another name, putting an older
version back, or binding a secret to other hosts makes it unreadable.
"""

from __future__ import annotations

import os
import struct
from dataclasses import replace

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from core.errors import SecretUnavailable
from core.keys import MasterKey, derive
from core.model.secrets import SecretRecord
from core.vault._secret import Secret

_WRAP_LABEL = "stepbrake vault wrapping key v1"
_TAG = b"stepbrake secret v1"
_NONCE_BYTES = 12
_KEY_BITS = 256


def seal(record: SecretRecord, value: str, master: MasterKey, database_id: str) -> SecretRecord:
    """Return ``record`` holding ``value`` encrypted; its cryptographic fields are replaced."""
    record = replace(record, key_id=master.key_id, nonce=os.urandom(_NONCE_BYTES))
    bound = _associated(record)
    data_key = AESGCM.generate_key(_KEY_BITS)
    wrap_nonce = os.urandom(_NONCE_BYTES)
    wrapping = AESGCM(derive(master, _WRAP_LABEL, database_id))
    return replace(
        record,
        wrapped_key=wrap_nonce + wrapping.encrypt(wrap_nonce, data_key, bound),
        ciphertext=AESGCM(data_key).encrypt(record.nonce, value.encode(), bound),
    )


def unseal(record: SecretRecord, master: MasterKey, database_id: str) -> Secret:
    """Return the value of ``record``.

    Raises:
        SecretUnavailable: another master key sealed it, or the record was changed.
    """
    if record.key_id != master.key_id:
        raise SecretUnavailable(
            "The secret is encrypted under another master key",
            where=record.name,
            hint=f"Use the key file of key {record.key_id}, or set the secret again.",
        )
    bound = _associated(record)
    wrap_nonce, wrapped = record.wrapped_key[:_NONCE_BYTES], record.wrapped_key[_NONCE_BYTES:]
    try:
        wrapping = AESGCM(derive(master, _WRAP_LABEL, database_id))
        data_key = wrapping.decrypt(wrap_nonce, wrapped, bound)
        return Secret(AESGCM(data_key).decrypt(record.nonce, record.ciphertext, bound).decode())
    except (InvalidTag, ValueError):
        raise SecretUnavailable(
            "The stored secret was changed outside the vault",
            where=record.name,
            hint="Set the secret again.",
        ) from None


def _associated(record: SecretRecord) -> bytes:
    texts = (record.name, record.key_id, record.placement, record.field, *record.hosts)
    parts = [_TAG, struct.pack(">QI", record.version, len(texts))]
    for text in texts:
        data = text.encode()
        parts.append(struct.pack(">I", len(data)) + data)
    return b"".join(parts)
