"""The runtime: ``open_runtime`` and what it gives."""

from core.runtime._audit import AuditView
from core.runtime._facade import Runtime, ToolInfo, current_user
from core.runtime._keys import OwnKeyProvider, key_provider
from core.runtime._models import ModelInfo, list_models
from core.runtime._open import assemble, open_runtime
from core.runtime._run import Run

__all__ = [
    "AuditView",
    "ModelInfo",
    "OwnKeyProvider",
    "Run",
    "Runtime",
    "ToolInfo",
    "assemble",
    "current_user",
    "key_provider",
    "list_models",
    "open_runtime",
]
