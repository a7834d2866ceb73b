"""What a configuration says, once it is known to be valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """One ``[models.NAME]`` table.

    Attributes:
        name: what a run request calls it.
        provider: the wire format its server speaks.
        base_url: the API's root; ``/chat/completions`` is appended to it.
        model: the model's name on the wire.
        credential: the secret that is sent along, or None.
    """

    name: str
    provider: Literal["openai-chat"]
    base_url: str
    model: str
    credential: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialEntry:
    """One ``[credentials.NAME]`` table: how the secret of that name travels.

    Attributes:
        name: the secret's name in the vault.
        placement: ``bearer``: ``Authorization: Bearer …``; ``header``: a header of its own.
        field: the header's name for placement ``header``, else None.
        hosts: ``host``, ``host:port`` or ``*.suffix``: where it may be sent.
    """

    name: str
    placement: Literal["bearer", "header"] = "bearer"
    field: str | None = None
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A whole configuration; the default one is empty.

    Attributes:
        models: model entries by name.
        credentials: credential entries by name.
        path: the file it came from, None if there was none.
    """

    models: Mapping[str, ModelEntry] = field(default_factory=lambda: MappingProxyType({}))
    credentials: Mapping[str, CredentialEntry] = field(default_factory=lambda: MappingProxyType({}))
    path: Path | None = None
