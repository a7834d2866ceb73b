from __future__ import annotations

import sys
import threading
from types import ModuleType

import pytest

import core.keys._keyring as subject
from core.errors import SecretUnavailable
from core.keys import KeyringKeyProvider


class FakeKeyring(ModuleType):
    """The two functions of the package ``keyring`` that are used."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.entries: dict[tuple[str, str], str] = {}
        self.fault: Exception | None = None
        self.forgets = False
        self.gate: threading.Event | None = None

    def get_password(self, service: str, username: str) -> str | None:
        self._wait()
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._wait()
        if not self.forgets:
            self.entries[service, username] = password

    def _wait(self) -> None:
        if self.gate is not None:
            self.gate.wait()
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> FakeKeyring:
    fake = FakeKeyring()
    monkeypatch.setitem(sys.modules, "keyring", fake)
    return fake


def test_a_key_is_made_once_and_kept(backend: FakeKeyring) -> None:
    provider = KeyringKeyProvider()
    assert not provider.present
    with pytest.raises(SecretUnavailable, match="no master key"):
        provider.master_key()
    key = provider.master_key(make=True)
    assert backend.entries == {("stepbrake", "master-key"): key.reveal().hex() + "\n"}
    again = KeyringKeyProvider()
    assert again.present
    assert again.master_key(make=True).reveal() == key.reveal()


def test_a_renewed_key_stands_first_and_earlier_ones_stay(backend: FakeKeyring) -> None:
    provider, other = KeyringKeyProvider("s", "u"), KeyringKeyProvider("s", "u")
    first = provider.master_key(make=True)
    assert other.master_key().key_id == first.key_id
    second = provider.renew(first.key_id)
    assert second.key_id != first.key_id
    assert provider.renew(first.key_id).key_id == second.key_id
    assert backend.entries["s", "u"].split() == [second.reveal().hex(), first.reveal().hex()]
    found = other.find(second.key_id)
    assert found is not None
    assert found.reveal() == second.reveal()
    assert other.find("0" * 16) is None


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(SecretUnavailable, match="'keyring' is not installed") as caught:
        KeyringKeyProvider().master_key(make=True)
    assert caught.value.code == "secret_locked"
    assert "pip install keyring" in caught.value.hint


def test_a_keyring_that_refuses_is_not_quoted(backend: FakeKeyring) -> None:
    backend.fault = RuntimeError("password hunter2 is wrong")
    with pytest.raises(SecretUnavailable, match=r"refused \(RuntimeError\)") as caught:
        KeyringKeyProvider().master_key()
    assert "hunter2" not in f"{caught.value!r} {caught.value.hint} {caught.value.__context__!r}"


def test_an_entry_that_is_no_key_is_refused(backend: FakeKeyring) -> None:
    backend.entries["stepbrake", "master-key"] = "hunter2"
    with pytest.raises(SecretUnavailable, match="hex digits") as caught:
        KeyringKeyProvider().master_key(make=True)
    assert "hunter2" not in repr(caught.value)
    assert backend.entries["stepbrake", "master-key"] == "hunter2"


def test_a_keyring_that_forgets_is_not_trusted(backend: FakeKeyring) -> None:
    backend.forgets = True
    with pytest.raises(SecretUnavailable, match="did not keep"):
        KeyringKeyProvider().master_key(make=True)


def test_a_silent_keyring_is_not_waited_for_for_ever(
    backend: FakeKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "PATIENCE_S", 0.05)
    backend.gate = threading.Event()
    try:
        with pytest.raises(SecretUnavailable, match="silent"):
            KeyringKeyProvider().master_key()
    finally:
        backend.gate.set()
