"""Secrets: kept encrypted, read only to be injected, never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy
from core.vault._secret import Credential, Secret, SecretInfo

if TYPE_CHECKING:
    from core.vault._rotation import Rotated
    from core.vault._vault import Vault

__all__ = ["Credential", "Rotated", "Secret", "SecretInfo", "Vault"]

__getattr__ = lazy(__name__, {"Rotated": "core.vault._rotation", "Vault": "core.vault._vault"})
