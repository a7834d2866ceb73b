"""Which key provider the configuration names."""

from __future__ import annotations

from typing import Protocol

from core.config import Config
from core.keys import (
    EnvironmentKeyProvider,
    FileKeyProvider,
    KeyProvider,
    KeyringKeyProvider,
)


class OwnKeyProvider(KeyProvider, Protocol):
    """One of the providers that come with the core."""

    @property
    def place(self) -> str:
        """Return where the key is, for a person."""

    @property
    def present(self) -> bool:
        """Return whether there is a key already."""


def key_provider(config: Config) -> OwnKeyProvider:
    """Return the key provider that ``[keys]`` names; by default the key file.

    Raises:
        ConfigError: the user has no home directory, and nothing names the key's place.
    """
    entry = config.keys
    match entry.provider:
        case "environment":
            return EnvironmentKeyProvider()
        case "keyring":
            return KeyringKeyProvider(entry.service, entry.username)
        case "transit":
            from core.adapters.transit import TransitKeyProvider

            return TransitKeyProvider(
                entry.url,
                entry.key,
                mount=entry.mount,
                token_variable=entry.token_variable,
                path=entry.path,
                ca_file=entry.ca_file,
            )
        case _:
            return FileKeyProvider(default=entry.path)
