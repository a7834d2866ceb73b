"""A runtime whose master key comes from elsewhere than a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.audit import verify
from core.config import Config, KeysEntry
from core.keys import EnvironmentKeyProvider, FileKeyProvider, KeyringKeyProvider
from core.runtime import key_provider, open_runtime
from tests.fakes.keys import Keyring
from tests.fakes.transit import TOKEN, transit_server


def test_each_provider_is_what_the_configuration_names(tmp_path: Path) -> None:
    def named(**fields: object) -> object:
        return key_provider(Config(keys=KeysEntry(**fields)))  # type: ignore[arg-type]

    default = named()
    assert isinstance(default, FileKeyProvider)
    assert default.path == FileKeyProvider().path
    configured = named(path=tmp_path / "k")
    assert isinstance(configured, FileKeyProvider)
    assert configured.path == tmp_path / "k"
    assert isinstance(named(provider="environment"), EnvironmentKeyProvider)
    keyring = named(provider="keyring", service="s", username="u")
    assert isinstance(keyring, KeyringKeyProvider)
    assert keyring.place == "keyring: s/u"


async def test_a_provider_of_ones_own(tmp_path: Path, home: Path) -> None:
    keyring = Keyring()
    async with open_runtime(tmp_path / "v.db", config=Config(), keys=keyring) as runtime:
        await runtime.secrets.set("key", "value", actor="me")
        rotated = await runtime.secrets.rotate_key(actor="me")
        assert runtime.audit.verify().ok
    assert rotated.key_id == keyring.keys[0].key_id
    assert verify(tmp_path / "v.db", keyring.keys[0]).ok
    assert not list(home.rglob("*.key"))


async def test_transit_holds_the_key_of_a_runtime(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", TOKEN)
    with transit_server() as server:
        wrapped = tmp_path / "keys" / "wrapped"
        entry = KeysEntry(provider="transit", url=server.url, key="playground", path=wrapped)
        config = Config(keys=entry)
        async with open_runtime(tmp_path / "v.db", config=config) as runtime:
            await runtime.secrets.set("key", "value", actor="me")
        async with open_runtime(tmp_path / "v.db", config=config) as runtime:
            secret = await runtime.secrets.read("key", host="a.example", port=443)
            assert secret.reveal() == "value"
            await runtime.secrets.rotate_key(actor="me")
            assert (await runtime.secrets.get("key", actor="me")).reveal() == "value"
            assert runtime.audit.verify().ok
        calls = [path.rsplit("/", 2)[1] for path, _, _ in server.requests]
        assert calls == ["encrypt", "decrypt", "encrypt"]
    assert len(wrapped.read_text().splitlines()) == 2
    assert not list(home.rglob("*.key"))
