from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.errors import SecretUnavailable
from core.keys import FileKeyProvider, MasterKey


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "k"


def test_a_new_key_stands_first_and_earlier_ones_stay(path: Path) -> None:
    provider = FileKeyProvider(path)
    keys = [provider.master_key(make=True)]
    for _ in range(3):
        keys.insert(0, provider.renew(keys[0].key_id))
    assert path.read_text().split() == [key.reveal().hex() for key in keys]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == [path.name]
    fresh = FileKeyProvider(path)
    assert fresh.master_key().key_id == keys[0].key_id == provider.master_key().key_id
    for key in keys:
        found = fresh.find(key.key_id)
        assert found is not None
        assert found.reveal() == key.reveal()
    assert fresh.find("0" * 16) is None


def test_a_renewal_that_somebody_began_is_gone_on_with(path: Path) -> None:
    first = FileKeyProvider(path).master_key(make=True)
    stale = FileKeyProvider(path)
    stale.master_key()
    second = FileKeyProvider(path).renew(first.key_id)
    assert stale.renew(first.key_id).key_id == second.key_id
    assert len(path.read_text().split()) == 2


def test_a_key_added_elsewhere_is_found(path: Path) -> None:
    provider = FileKeyProvider(path)
    first = provider.master_key(make=True)
    second = FileKeyProvider(path).renew(first.key_id)
    found = provider.find(second.key_id)
    assert found is not None
    assert found.reveal() == second.reveal()


def test_renewals_that_race_add_one_key(path: Path) -> None:
    first = FileKeyProvider(path).master_key(make=True)
    providers = [FileKeyProvider(path) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda one: one.renew(first.key_id).key_id, providers))
    assert len(keys) == 1
    assert len(path.read_text().split()) == 2


def test_what_a_killed_writer_left_is_swept_away(path: Path) -> None:
    first = FileKeyProvider(path).master_key(make=True)
    left = path.with_name(f".{path.name}.0123456789abcdef.new")
    left.write_text("00" * 32)
    other = path.with_name(".other.0123456789abcdef.new")
    other.write_text("")
    FileKeyProvider(path).renew(first.key_id)
    assert not left.exists()
    assert other.exists()


def test_a_place_that_cannot_be_written_keeps_the_key(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = FileKeyProvider(path)
    first = provider.master_key(make=True)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(SecretUnavailable, match="cannot be written: No space") as caught:
        provider.renew(first.key_id)
    assert caught.value.code == "secret_locked"
    monkeypatch.undo()
    assert os.listdir(path.parent) == [path.name]
    assert FileKeyProvider(path).master_key().key_id == first.key_id


def test_no_key_is_renewed_where_there_is_none(path: Path) -> None:
    with pytest.raises(SecretUnavailable, match="no master key"):
        FileKeyProvider(path).renew("0" * 16)
    assert not path.exists()


@pytest.mark.parametrize(
    "content", ["{key}\n\n{key}\n", "{key}\nnonsense\n", "{key} {key}\n", "{key}\n00\n"]
)
def test_a_file_with_a_bad_line_is_refused_without_quoting_it(path: Path, content: str) -> None:
    key = MasterKey(b"k" * 32).reveal().hex()
    path.parent.mkdir()
    path.write_text(content.format(key=key))
    path.chmod(0o600)
    with pytest.raises(SecretUnavailable, match="hex digits") as caught:
        FileKeyProvider(path).master_key()
    assert key not in f"{caught.value!r}{caught.value.hint}"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_environment_comes_before_the_configured_file(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FileKeyProvider(default=path).path == path
    monkeypatch.setenv("PLAYGROUND_KEY_FILE", str(tmp_path / "named"))
    assert FileKeyProvider(default=path).path == tmp_path / "named"
    assert FileKeyProvider(path).path == path
