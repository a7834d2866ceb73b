"""Keys encrypted under the master key."""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from core.keys._derive import derive
from core.keys._master import MasterKey

_NONCE_BYTES = 12


def wrap_key(key: bytes, bound: bytes, *, master: MasterKey, label: str, database_id: str) -> bytes:
    """Return ``key`` encrypted (AES-256-GCM) under a key derived from the master key.

    Args:
        key: what is encrypted.
        bound: associated data: it must be the same when the key is unwrapped.
        master: the master key.
        label: the purpose of the derived key.
        database_id: the database it is derived for.

    Returns:
        The nonce, 12 bytes, then the ciphertext with its tag.
    """
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(derive(master, label, database_id)).encrypt(nonce, key, bound)


def unwrap_key(
    wrapped: bytes, bound: bytes, *, master: MasterKey, label: str, database_id: str
) -> bytes:
    """Return what ``wrap_key`` was given.

    Raises:
        ValueError: another master key, purpose or database, or something was changed.
    """
    nonce, ciphertext = wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:]
    try:
        return AESGCM(derive(master, label, database_id)).decrypt(nonce, ciphertext, bound)
    except InvalidTag:
        raise ValueError("not what was wrapped") from None
