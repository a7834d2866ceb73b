"""The master key, where it comes from, and the keys derived from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy
from core.keys._master import KeyProvider, MasterKey

if TYPE_CHECKING:
    from core.keys._derive import derive
    from core.keys._environment import EnvironmentKeyProvider
    from core.keys._file import FileKeyProvider
    from core.keys._keyring import KeyringKeyProvider
    from core.keys._private_file import PrivateFile
    from core.keys._wrap import unwrap_key, wrap_key

__all__ = [
    "EnvironmentKeyProvider",
    "FileKeyProvider",
    "KeyProvider",
    "KeyringKeyProvider",
    "MasterKey",
    "PrivateFile",
    "derive",
    "unwrap_key",
    "wrap_key",
]

_HOMES = {
    "EnvironmentKeyProvider": "core.keys._environment",
    "FileKeyProvider": "core.keys._file",
    "KeyringKeyProvider": "core.keys._keyring",
    "PrivateFile": "core.keys._private_file",
    "derive": "core.keys._derive",
    "unwrap_key": "core.keys._wrap",
    "wrap_key": "core.keys._wrap",
}

__getattr__ = lazy(__name__, _HOMES)
