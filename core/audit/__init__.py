"""The audit log: sealing, writing, verifying."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy

if TYPE_CHECKING:
    from core.audit._chain import Chain
    from core.audit._keys import ChainKeys, open_chain, retire_key, rewrap_key, sealer
    from core.audit._log import AuditLog
    from core.audit._rows import Finding, Reason, Verification
    from core.audit._verify import verify, verify_log

__all__ = [
    "AuditLog",
    "Chain",
    "ChainKeys",
    "Finding",
    "Reason",
    "Verification",
    "open_chain",
    "retire_key",
    "rewrap_key",
    "sealer",
    "verify",
    "verify_log",
]

_HOMES = {
    "AuditLog": "core.audit._log",
    "Chain": "core.audit._chain",
    "ChainKeys": "core.audit._keys",
    "Finding": "core.audit._rows",
    "Reason": "core.audit._rows",
    "Verification": "core.audit._rows",
    "open_chain": "core.audit._keys",
    "retire_key": "core.audit._keys",
    "rewrap_key": "core.audit._keys",
    "sealer": "core.audit._keys",
    "verify": "core.audit._verify",
    "verify_log": "core.audit._verify",
}

__getattr__ = lazy(__name__, _HOMES)
