"""The audit log: sealing, writing, verifying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.audit._chain import Chain
    from core.audit._keys import open_chain
    from core.audit._log import AuditLog
    from core.audit._rows import Finding, Reason, Verification
    from core.audit._verify import verify

__all__ = ["AuditLog", "Chain", "Finding", "Reason", "Verification", "open_chain", "verify"]

_HOMES = {
    "AuditLog": "core.audit._log",
    "Chain": "core.audit._chain",
    "Finding": "core.audit._rows",
    "Reason": "core.audit._rows",
    "Verification": "core.audit._rows",
    "open_chain": "core.audit._keys",
    "verify": "core.audit._verify",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
