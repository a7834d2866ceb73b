"""What a configuration says, once it is known to be valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

Placement = Literal["bearer", "basic", "header", "api_key", "query", "body_field", "oauth2"]
# Where a placement puts the secret if nothing else is said; ``header`` has to say.
DEFAULT_FIELDS: Mapping[Placement, str] = MappingProxyType(
    {
        "bearer": "Authorization",
        "basic": "Authorization",
        "oauth2": "Authorization",
        "api_key": "X-API-Key",
        "query": "api_key",
        "body_field": "api_key",
    }
)


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
class OAuthEntry:
    """A ``[credentials.NAME.oauth]`` table: how an access token is had (RFC 6749).

    Attributes:
        token_url: the token endpoint.
        grant: ``client_credentials`` (section 4.4) or ``refresh_token`` (section 6).
        client_id: the client's identifier; no secret.
        client_secret: the secret's name in the vault.
        refresh_token: the refresh token's name in the vault; only and always for that grant.
        scopes: what is asked for.
        params: more fields of the token request.
        expiry_buffer_s: a token is no longer used this many seconds before its end.
    """

    token_url: str
    grant: Literal["client_credentials", "refresh_token"]
    client_id: str
    client_secret: str
    refresh_token: str | None = None
    scopes: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    expiry_buffer_s: int = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialEntry:
    """One ``[credentials.NAME]`` table: how the secret of that name travels.

    Attributes:
        name: the secret's name in the vault.
        placement: see ``core.vault.Credential``.
        field: the header, query parameter or body field, None for the placement's own.
        hosts: ``host``, ``host:port`` or ``*.suffix``: where it may be sent.
        username: for ``basic``: a literal, None if the secret is ``user:password``.
        tools: the tools that may use it; None: every one.
        expires_us: UTC microseconds after which it is refused, None: never.
        body_fields: more secrets in the body, as pairs of field and secret; at most 8.
        oauth: only and always for ``oauth2``.
    """

    name: str
    placement: Placement = "bearer"
    field: str | None = None
    hosts: tuple[str, ...] = ()
    username: str | None = None
    tools: tuple[str, ...] | None = None
    expires_us: int | None = None
    body_fields: tuple[tuple[str, str], ...] = ()
    oauth: OAuthEntry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysEntry:
    """The ``[keys]`` table: where the master key comes from.

    Attributes:
        provider: ``file``; ``environment`` (``PLAYGROUND_MASTER_KEY``); ``keyring``, that of
            the operating system; ``transit``, HashiCorp Vault's engine or one that speaks
            like it.
        path: the key file, or for ``transit`` the file with the wrapped key; None for the
            default place.
        service: the keyring's entry: its service.
        username: the keyring's entry: its user name.
        url: the Transit server.
        mount: where its engine is mounted.
        key: the engine's key.
        token_variable: the environment variable that holds the server's token.
        ca_file: trusted certificates for the Transit server; None: the system's.
    """

    provider: Literal["file", "environment", "keyring", "transit"] = "file"
    path: Path | None = None
    service: str = "stepbrake"
    username: str = "master-key"
    url: str = ""
    mount: str = "transit"
    key: str = ""
    token_variable: str = "VAULT_TOKEN"  # noqa: S105 - a variable's name
    ca_file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A whole configuration; the default one is empty.

    Attributes:
        keys: where the master key comes from.
        models: model entries by name.
        credentials: credential entries by name.
        path: the file it came from, None if there was none.
    """

    models: Mapping[str, ModelEntry] = field(default_factory=lambda: MappingProxyType({}))
    credentials: Mapping[str, CredentialEntry] = field(default_factory=lambda: MappingProxyType({}))
    keys: KeysEntry = field(default_factory=KeysEntry)
    path: Path | None = None
