from __future__ import annotations

from collections.abc import Callable

import pytest

from core.errors import SecretUnavailable
from core.keys import EnvironmentKeyProvider, MasterKey

NEW, OLD = MasterKey(b"n" * 32), MasterKey(b"o" * 32)
VARIABLE = "PLAYGROUND_MASTER_KEY"


def held(*keys: MasterKey) -> str:
    return " ".join(key.reveal().hex() for key in keys)


def test_the_first_key_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, held(NEW, OLD))
    provider = EnvironmentKeyProvider()
    assert provider.present
    assert provider.master_key().reveal() == NEW.reveal()
    found = provider.find(OLD.key_id)
    assert found is not None
    assert found.reveal() == OLD.reveal()
    assert provider.find("0" * 16) is None


def test_a_new_key_is_put_there_by_whoever_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = EnvironmentKeyProvider()
    monkeypatch.setenv(VARIABLE, held(OLD))
    with pytest.raises(SecretUnavailable, match="cannot be stored") as caught:
        provider.renew(OLD.key_id)
    assert VARIABLE in caught.value.hint
    assert OLD.reveal().hex() not in caught.value.hint
    monkeypatch.setenv(VARIABLE, held(NEW, OLD))
    assert provider.renew(OLD.key_id).key_id == NEW.key_id


@pytest.mark.parametrize("value", [None, "", "  ", "abc", "zz" * 32, "00" * 33, "ü"])
def test_what_is_no_key_is_refused_without_quoting_it(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, value)
    provider = EnvironmentKeyProvider()
    asks: list[Callable[[], object]] = [
        lambda: provider.master_key(make=True),
        lambda: provider.find("0" * 16),
    ]
    for ask in asks:
        with pytest.raises(SecretUnavailable) as caught:
            ask()
        assert caught.value.code == "secret_locked"
        assert caught.value.where == VARIABLE
        assert caught.value.__cause__ is None
        if value is not None and value.strip():
            assert value not in f"{caught.value} {caught.value.hint}"
