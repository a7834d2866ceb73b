"""Secrets: kept encrypted, read only to be injected, never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.vault._secret import Credential, Secret, SecretInfo

if TYPE_CHECKING:
    from core.vault._vault import Vault

__all__ = ["Credential", "Secret", "SecretInfo", "Vault"]


def __getattr__(name: str) -> Any:
    """Load ``Vault``, and with it the ciphers, on first use."""
    if name != "Vault":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from core.vault._vault import Vault

    return Vault
