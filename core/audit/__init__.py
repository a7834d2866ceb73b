"""The audit log: sealing, writing, verifying."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core._lazy import lazy

if TYPE_CHECKING:
    from core.audit._chain import Chain
    from core.audit._keys import open_chain, sealer
    from core.audit._log import AuditLog
    from core.audit._rows import Finding, Reason, Verification
    from core.audit._verify import verify

__all__ = [
    "AuditLog",
    "Chain",
    "Finding",
    "Reason",
    "Verification",
    "open_chain",
    "sealer",
    "verify",
]

_HOMES = {
    "AuditLog": "core.audit._log",
    "Chain": "core.audit._chain",
    "Finding": "core.audit._rows",
    "Reason": "core.audit._rows",
    "Verification": "core.audit._rows",
    "open_chain": "core.audit._keys",
    "sealer": "core.audit._keys",
    "verify": "core.audit._verify",
}

__getattr__ = lazy(__name__, _HOMES)
