"""Which models there are, and how each is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from core.clock import Clock
from core.config import DEFAULT_FIELDS, Config, CredentialEntry
from core.demo import SCENES
from core.errors import SecretUnavailable, UsageError, did_you_mean
from core.http import parse_url
from core.providers import OpenAIChat, Provider
from core.runtime._demo import DEMO, Demo
from core.vault import Credential, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A model entry as it is listed.

    Attributes:
        name: what a run request calls it.
        provider: the wire format.
        model: the name on the wire.
        base_url: where it is; empty for the demo, which picks a port when it starts.
        credential: the secret that is sent along, or None.
        description: one line for a person.
    """

    name: str
    provider: str
    model: str
    base_url: str = ""
    credential: str | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How to call one model.

    Attributes:
        name: the entry.
        model: the name on the wire.
        provider: speaks to it.
        credential: what is attached, or None.
        allow: the server's own host and port.
    """

    name: str
    model: str
    provider: Provider
    credential: Credential | None
    allow: tuple[str, ...]


def list_models(config: Config) -> list[ModelInfo]:
    """Return the demo's entries, then the configured ones by name. Needs no store."""
    demo = [
        ModelInfo(
            name=name,
            provider=OpenAIChat.name,
            model=name,
            credential=DEMO,
            description=description,
        )
        for name, description in _demo_names().items()
    ]
    configured = [
        ModelInfo(
            name=entry.name,
            provider=entry.provider,
            model=entry.model,
            base_url=entry.base_url,
            credential=entry.credential,
            description=f"{entry.model} at {urlsplit(entry.base_url).netloc}",
        )
        for entry in sorted(config.models.values(), key=lambda entry: entry.name)
    ]
    return [*demo, *configured]


class ModelDirectory:
    """The demo's scenes and the entries of the configuration.

    Args:
        config: the entries.
        vault: where credentials are.
        demo: the demo server, started when it is first asked for.
        clock: for providers.
        providers: test doubles by model name; they come first.
        mask: takes known secrets out of what servers say.
    """

    def __init__(
        self,
        config: Config,
        vault: Vault,
        demo: Demo,
        clock: Clock,
        *,
        providers: Mapping[str, Provider],
        mask: Callable[[str], str],
    ) -> None:
        self._mask = mask
        self._config = config
        self._vault = vault
        self._demo = demo
        self._clock = clock
        self._providers = providers

    def all(self) -> list[ModelInfo]:
        """Return all entries: the demo first, then the configured ones by name."""
        scripted = [
            ModelInfo(name=name, provider=provider.name, model=name)
            for name, provider in self._providers.items()
        ]
        return [*scripted, *list_models(self._config)]

    async def reach(self, name: str) -> Reach:
        """Return how to call the model called ``name``.

        Raises:
            UsageError: there is no such model, or its credential has no secret.
        """
        if name in self._providers:
            return Reach(
                name=name, model=name, provider=self._providers[name], credential=None, allow=()
            )
        if name in _demo_names():
            demo = await self._demo.address()
            return Reach(
                name=name,
                model=name,
                provider=OpenAIChat(f"{demo.url}/v1", clock=self._clock, mask=self._mask),
                credential=demo.oauth if name == f"{DEMO}/oauth" else demo.credential,
                allow=(demo.host,),
            )
        entry = self._config.models.get(name)
        if entry is None:
            names = [info.name for info in self.all()]
            raise UsageError("There is no such model", where=name, hint=did_you_mean(name, names))
        host = _host_of(entry.base_url)
        credential = None
        if entry.credential is not None:
            try:
                credential = await self.credential(entry.credential, fallback=(host,))
            except SecretUnavailable as error:
                raise UsageError(
                    "The model's credential has no secret",
                    where=f"{name}: {entry.credential}",
                    hint=error.hint,
                ) from None
        return Reach(
            name=name,
            model=entry.model,
            provider=OpenAIChat(entry.base_url, clock=self._clock, mask=self._mask),
            credential=credential,
            allow=(host,),
        )

    async def credential(self, name: str, *, fallback: tuple[str, ...] = ()) -> Credential:
        """Return how a secret is used: as configured, else as it was set.

        Args:
            name: the secret's name, or that of a credential whose token is asked for.
            fallback: hosts it is bound to if neither says any.

        Raises:
            SecretUnavailable: there is no such secret.
        """
        if name == DEMO:
            return (await self._demo.address()).credential
        entry = self._config.credentials.get(name)
        if entry is not None and entry.oauth is not None:
            # It has no secret of its own: those of the token request are asked for.
            await self._vault.credential(entry.oauth.client_secret)
            return _configured(entry, None, fallback)
        return self._as_configured(await self._vault.credential(name), fallback)

    def known_credential(self, name: str) -> Credential:
        """Return how a secret is used, from what this process has read or written.

        Raises:
            SecretUnavailable: it knows no such secret.
        """
        if name == DEMO:
            return self._demo.known
        entry = self._config.credentials.get(name)
        if entry is not None and entry.oauth is not None:
            self._vault.known(entry.oauth.client_secret)
            return _configured(entry, None, ())
        return self._as_configured(self._vault.known(name), ())

    async def bound_credentials(self) -> list[Credential]:
        """Return the credentials that name their hosts; tools may use them there."""
        stored = {info.credential.name: info.credential for info in await self._vault.list()}
        asking = [
            entry
            for entry in self._config.credentials.values()
            if entry.oauth is not None and entry.oauth.client_secret in stored
        ]
        found = [_configured(entry, None, ()) for entry in asking]
        others = stored.keys() - {DEMO, *(entry.name for entry in asking)}
        found += [self._as_configured(stored[name], ()) for name in sorted(others)]
        if self._demo.running:
            found.append((await self._demo.address()).credential)
        return [credential for credential in found if credential.hosts]

    def _as_configured(self, stored: Credential, fallback: tuple[str, ...]) -> Credential:
        entry = self._config.credentials.get(stored.name)
        if entry is None:
            return replace(stored, hosts=stored.hosts or fallback)
        return _configured(entry, stored, fallback)


def _configured(
    entry: CredentialEntry, stored: Credential | None, fallback: tuple[str, ...]
) -> Credential:
    """Return a configured credential.

    Where its hosts or its end say more than what is stored, reading the secret enforces the
    latter.

    Args:
        entry: what the configuration says.
        stored: what the vault says; None for a credential without a secret of its own.
        fallback: hosts it is bound to if neither says any.
    """
    field = entry.field or DEFAULT_FIELDS.get(entry.placement, stored.field if stored else "")
    ends = [entry.expires_us, stored.expires_us if stored else None]
    return Credential(
        entry.name,
        entry.placement,
        field,
        entry.hosts or (stored.hosts if stored else ()) or fallback,
        username=entry.username,
        tools=entry.tools,
        expires_us=min((end for end in ends if end is not None), default=None),
        body_fields=entry.body_fields,
        oauth=entry.oauth,
    )


def _demo_names() -> dict[str, str]:
    scenes = {f"{DEMO}/{scene}": text for scene, text in SCENES.items()}
    return {DEMO: scenes[f"{DEMO}/weather"], **scenes}


def _host_of(base_url: str) -> str:
    netloc = urlsplit(base_url).netloc
    url = parse_url(base_url, (netloc,))
    return f"{url.bracketed_host}:{url.port}"
