"""Keys for one purpose and one database, from the master key."""

from __future__ import annotations

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.keys._master import KEY_BYTES, MasterKey


def derive(master: MasterKey, label: str, database_id: str) -> bytes:
    """Return the 32-byte key for ``label`` in one database (HKDF-SHA256, RFC 5869).

    Args:
        master: the master key.
        label: the purpose; other labels give unrelated keys.
        database_id: the salt: the same key never serves two databases.
    """
    hkdf = HKDF(SHA256(), KEY_BYTES, salt=database_id.encode(), info=label.encode())
    return hkdf.derive(master.reveal())
