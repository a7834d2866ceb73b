"""How the configuration and the vault make one credential."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.config import Config, CredentialEntry, OAuthEntry
from core.errors import SecretUnavailable
from core.vault import Credential
from tests.support.runtime import scripted_runtime

OAUTH = OAuthEntry(
    token_url="https://id.example/t",
    grant="client_credentials",
    client_id="c",
    client_secret="client",
)


async def used(
    path: Path, entry: CredentialEntry | None, name: str = "key", **stored: object
) -> Credential:
    """Return how a secret set with ``stored`` is used under ``entry``."""
    config = Config(credentials={} if entry is None else {entry.name: entry})
    async with scripted_runtime(path, config=config) as runtime:
        await runtime.secrets.set("key", "value", actor="me", **stored)  # type: ignore[arg-type]
        await runtime.secrets.set("client", "value", actor="me")
        directory = runtime._parts.models
        credential = await directory.credential(name)
        assert directory.known_credential(name) == credential
        bound = await directory.bound_credentials()
        assert (credential in bound) == bool(credential.hosts)
        return credential


async def test_without_an_entry_it_is_used_as_it_was_set(tmp_path: Path) -> None:
    assert await used(
        tmp_path, None, hosts=("a.example",), header="X-Key", expires_us=5
    ) == Credential("key", "header", "X-Key", ("a.example",), expires_us=5)


async def test_an_entry_comes_before_what_was_set(tmp_path: Path) -> None:
    entry = CredentialEntry(
        name="key",
        placement="basic",
        hosts=("b.example",),
        username="me",
        tools=("http_get",),
        expires_us=9,
        body_fields=(("pin", "other"),),
    )
    assert await used(tmp_path, entry, hosts=("a.example",)) == Credential(
        "key",
        "basic",
        "Authorization",
        ("b.example",),
        username="me",
        tools=("http_get",),
        expires_us=9,
        body_fields=(("pin", "other"),),
    )


@pytest.mark.parametrize(
    ("configured", "stored", "end"), [(None, None, None), (5, None, 5), (None, 5, 5), (9, 5, 5)]
)
async def test_the_earlier_end_counts(
    tmp_path: Path, configured: int | None, stored: int | None, end: int | None
) -> None:
    entry = CredentialEntry(name="key", expires_us=configured)
    assert (await used(tmp_path, entry, expires_us=stored)).expires_us == end


async def test_hosts_that_were_set_stay_where_the_entry_names_none(tmp_path: Path) -> None:
    entry = CredentialEntry(name="key", placement="query")
    assert await used(tmp_path, entry, hosts=("a.example",)) == Credential(
        "key", "query", "api_key", ("a.example",)
    )


async def test_an_entry_never_widens_what_the_secret_is_bound_to(tmp_path: Path) -> None:
    entry = CredentialEntry(name="key", hosts=("evil.example",))
    config = Config(credentials={"key": entry})
    async with scripted_runtime(tmp_path, config=config) as runtime:
        await runtime.secrets.set("key", "value", hosts=("a.example",), actor="me")
        credential = await runtime._parts.models.credential("key")
        assert credential.hosts == ("evil.example",)
        with pytest.raises(SecretUnavailable) as caught:
            await runtime.secrets.read(credential.name, host="evil.example", port=443)
        assert caught.value.code == "secret_not_for_host"


async def test_a_credential_that_asks_for_a_token_needs_no_secret_of_its_own(
    tmp_path: Path,
) -> None:
    entry = CredentialEntry(name="token", placement="oauth2", hosts=("api.example",), oauth=OAUTH)
    assert await used(tmp_path, entry, name="token") == Credential(
        "token", "oauth2", "Authorization", ("api.example",), oauth=OAUTH
    )


async def test_without_its_client_secret_it_is_missing(tmp_path: Path) -> None:
    entry = CredentialEntry(name="token", placement="oauth2", hosts=("api.example",), oauth=OAUTH)
    async with scripted_runtime(tmp_path, config=Config(credentials={"token": entry})) as runtime:
        directory = runtime._parts.models
        with pytest.raises(SecretUnavailable) as caught:
            await directory.credential("token")
        assert (caught.value.code, caught.value.where) == ("secret_missing", "client")
        with pytest.raises(SecretUnavailable):
            directory.known_credential("token")
        assert await directory.bound_credentials() == []
