from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.errors import SecretUnavailable
from core.keys import FileKeyProvider, MasterKey, derive


def test_the_default_file_is_in_the_users_configuration(home: Path) -> None:
    assert FileKeyProvider().path == home / ".config" / "stepbrake" / "master.key"


def test_the_environment_names_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYGROUND_KEY_FILE", str(tmp_path / "my.key"))
    key = FileKeyProvider().master_key(make=True)
    assert (tmp_path / "my.key").read_text() == key.reveal().hex() + "\n"


def test_the_first_use_makes_a_key_that_stays(home: Path) -> None:
    first = FileKeyProvider().master_key(make=True)
    path = FileKeyProvider().path
    assert FileKeyProvider().master_key(make=True).reveal() == first.reveal()
    assert len(set(first.reveal())) > 8
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == [path.name]


def test_a_wide_umask_does_not_widen_the_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        FileKeyProvider(tmp_path / "keys" / "k").master_key(make=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "keys" / "k").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_threads_that_race_get_one_key(tmp_path: Path) -> None:
    for attempt in range(10):
        providers = [FileKeyProvider(tmp_path / f"k{attempt}") for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            keys = set(
                pool.map(lambda provider: provider.master_key(make=True).reveal(), providers)
            )
        assert len(keys) == 1


def test_processes_that_race_get_one_key(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from core.keys import FileKeyProvider; "
        "print(FileKeyProvider(Path(sys.argv[1])).master_key(make=True).key_id)"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "k")], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    answers = {process.communicate(timeout=30)[0] for process in processes}
    assert len(answers) == 1
    assert answers != {""}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o611])
def test_a_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "k"
    secret = FileKeyProvider(path).master_key(make=True).reveal().hex()
    path.chmod(mode)
    with pytest.raises(SecretUnavailable, match="others") as caught:
        FileKeyProvider(path).master_key(make=True)
    assert caught.value.hint == f"Run `chmod 600 {path}`."
    assert secret not in str(caught.value) + repr(caught.value)


def test_a_read_only_file_is_enough(tmp_path: Path) -> None:
    key = FileKeyProvider(tmp_path / "k").master_key(make=True)
    (tmp_path / "k").chmod(0o400)
    assert FileKeyProvider(tmp_path / "k").master_key(make=True).key_id == key.key_id


@pytest.mark.parametrize("content", ["", "00", "zz" * 32, "00" * 33, "ü" * 64, "\x00" * 5000])
def test_a_file_without_a_key_is_refused_and_kept(tmp_path: Path, content: str) -> None:
    path = tmp_path / "k"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(SecretUnavailable, match="hex digits") as caught:
        FileKeyProvider(path).master_key(make=True)
    assert caught.value.where == str(path)
    assert caught.value.__cause__ is None
    assert path.read_text() == content


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    for path in (tmp_path / "fifo", tmp_path):
        with pytest.raises(SecretUnavailable):
            FileKeyProvider(path).master_key(make=True)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SecretUnavailable, match="cannot be"):
        FileKeyProvider(tmp_path / "file" / "k").master_key(make=True)


def test_a_key_is_not_made_where_none_may_be(tmp_path: Path) -> None:
    with pytest.raises(SecretUnavailable, match="no master key"):
        FileKeyProvider(tmp_path / "k").master_key()
    assert os.listdir(tmp_path) == []


def test_a_master_key_does_not_show_itself() -> None:
    key = MasterKey(bytes(range(32)))
    shown = f"{key} {key!r} {[key]} {key.key_id}"
    assert key.reveal().hex() not in shown
    assert str(key.reveal()) not in shown
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(ValueError, match="32 bytes"):
        MasterKey(b"short")


def test_keys_for_other_purposes_or_databases_are_unrelated() -> None:
    key = MasterKey(b"k" * 32)
    keys = [derive(key, "a", "x"), derive(key, "b", "x"), derive(key, "a", "y")]
    keys.append(derive(MasterKey(b"l" * 32), "a", "x"))
    assert len(set(keys)) == 4
    assert {len(derived) for derived in keys} == {32}
    assert derive(key, "a", "x") == keys[0]


def test_derivation_follows_rfc_5869() -> None:
    # The RFC's construction, written out: extract, then one block of expand.
    import hashlib
    import hmac

    extracted = hmac.digest(b"x", b"k" * 32, hashlib.sha256)
    expected = hmac.digest(extracted, b"a" + b"\x01", hashlib.sha256)
    assert derive(MasterKey(b"k" * 32), "a", "x") == expected
