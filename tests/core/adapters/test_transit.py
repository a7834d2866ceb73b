from __future__ import annotations

import asyncio
import base64
import ssl
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trustme

from core.adapters import _transit_call
from core.adapters.transit import TransitKeyProvider
from core.errors import SecretUnavailable
from core.keys import MasterKey
from tests.fakes.transit import TOKEN, Answer, FakeTransit, transit_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTransit]:
    monkeypatch.setenv("VAULT_TOKEN", TOKEN)
    with transit_server() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "master.transit"


@pytest.fixture
def provider(server: FakeTransit, path: Path) -> TransitKeyProvider:
    return TransitKeyProvider(server.url, "playground", path=path)


def refusal(work: Callable[[], object]) -> SecretUnavailable:
    with pytest.raises(SecretUnavailable) as caught:
        work()
    error = caught.value
    assert error.code == "secret_locked"
    shown = f"{error!r} {error.where} {error.hint} {error.__cause__!r}"
    assert TOKEN not in shown
    assert "errors" not in shown
    return error


def test_a_key_is_made_wrapped_and_opened_again(
    server: FakeTransit, provider: TransitKeyProvider, path: Path
) -> None:
    assert not provider.present
    key = provider.master_key(make=True)
    [wrapped] = server.held
    assert path.read_text() == f"{wrapped} {key.key_id}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert base64.b64decode(server.held[wrapped]) == key.reveal()
    assert key.reveal().hex() not in path.read_text()
    fresh = TransitKeyProvider(server.url, "playground", path=path)
    assert fresh.present
    for _ in range(3):
        assert fresh.master_key().reveal() == key.reveal()
    assert [request[0].split("/")[3] for request in server.requests] == ["encrypt", "decrypt"]


def test_a_renewed_key_stands_first_and_earlier_ones_stay(
    server: FakeTransit, provider: TransitKeyProvider, path: Path
) -> None:
    first = provider.master_key(make=True)
    second = provider.renew(first.key_id)
    assert second.key_id != first.key_id
    assert [line.split()[1] for line in path.read_text().splitlines()] == [
        second.key_id, first.key_id,
    ]  # fmt: skip
    other = TransitKeyProvider(server.url, "playground", path=path)
    assert other.renew(first.key_id).key_id == second.key_id
    for key in (first, second):
        found = other.find(key.key_id)
        assert found is not None
        assert found.reveal() == key.reveal()
    count = len(server.requests)
    assert other.find("0" * 16) is None
    assert len(server.requests) == count, "the server is not asked for a key that is not there"


def test_renewals_that_race_add_one_key(
    server: FakeTransit, provider: TransitKeyProvider, path: Path
) -> None:
    first = provider.master_key(make=True)
    others = [TransitKeyProvider(server.url, "playground", path=path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda one: one.renew(first.key_id).key_id, others))) == 1
    assert len(path.read_text().splitlines()) == 2


async def test_it_may_be_asked_on_a_thread_that_has_a_loop(provider: TransitKeyProvider) -> None:
    assert provider.master_key(make=True).key_id
    assert asyncio.get_running_loop().is_running()


def test_without_a_token_nothing_is_sent(
    server: FakeTransit, provider: TransitKeyProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for token in ("", "a\nb"):
        monkeypatch.setenv("VAULT_TOKEN", token)
        error = refusal(lambda: provider.master_key(make=True))
        assert error.where == "VAULT_TOKEN"
    assert server.requests == []
    monkeypatch.setenv("VAULT_TOKEN", "another")
    assert "HTTP 403" in refusal(lambda: provider.master_key(make=True)).what
    assert not provider.present


ODD: list[tuple[Answer, str]] = [
    ((500, b"errors: c4nary"), "HTTP 500"),
    ((302, b"errors"), "HTTP 302"),
    ((200, b"errors"), "not one of its API"),
    ((200, b"[]"), "not one of its API"),
    ((200, b'{"data": [1]}'), "not one of its API"),
    ((200, b'{"data": ' + b"[" * 60_000), "not one of its API"),
    ((200, b'{"data": {}}'), "no key of ours"),
    ((200, b'{"data": {"ciphertext": 5}}'), "no key of ours"),
    ((200, b'{"data": {"ciphertext": "errors"}}'), "no key of ours"),
    ((200, b'{"data": {"ciphertext": "vault:v1:a b"}}'), "no key of ours"),
    ((200, b"x" * 70_000), "cannot be reached"),
]


@pytest.mark.parametrize(("answer", "part"), ODD)
def test_another_answer_is_refused_and_not_repeated(
    server: FakeTransit, provider: TransitKeyProvider, answer: Answer, part: str
) -> None:
    server.odd = answer
    assert part in refusal(lambda: provider.master_key(make=True)).what
    assert len(server.requests) == 1, "no redirect is followed, nothing is sent twice"
    assert not provider.present


@pytest.mark.parametrize("plaintext", ["", "AAAA", "?", base64.b64encode(b"x" * 33).decode()])
def test_what_is_opened_must_be_a_key(
    server: FakeTransit, provider: TransitKeyProvider, path: Path, plaintext: str
) -> None:
    provider.master_key(make=True)
    server.held = dict.fromkeys(server.held, plaintext)
    fresh = TransitKeyProvider(server.url, "playground", path=path)
    assert "no key of ours" in refusal(fresh.master_key).what


def test_another_key_than_the_named_one_is_refused(
    server: FakeTransit, provider: TransitKeyProvider, path: Path
) -> None:
    provider.master_key(make=True)
    other = base64.b64encode(MasterKey.random().reveal()).decode()
    server.held = dict.fromkeys(server.held, other)
    fresh = TransitKeyProvider(server.url, "playground", path=path)
    assert "damaged" in refusal(fresh.master_key).what


@pytest.mark.parametrize("content", ["", "x", "vault:v1:AAAA", "vault:v1:AAAA 00\n", "\x00"])
def test_a_damaged_file_is_refused_and_kept(
    server: FakeTransit, provider: TransitKeyProvider, path: Path, content: str
) -> None:
    path.parent.mkdir()
    path.write_text(content)
    path.chmod(0o600)
    assert "damaged" in refusal(lambda: provider.master_key(make=True)).what
    assert path.read_text() == content
    path.chmod(0o640)
    assert "others" in refusal(lambda: provider.master_key(make=True)).what
    assert server.requests == []


def test_a_server_that_is_silent_or_gone_is_not_waited_for(
    server: FakeTransit, provider: TransitKeyProvider, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_transit_call, "WITHIN_S", 0.2)
    server.gate = threading.Event()
    assert "in time" in refusal(lambda: provider.master_key(make=True)).what
    gone = TransitKeyProvider("http://127.0.0.1:1", "playground", path=path)
    assert "cannot be reached" in refusal(lambda: gone.master_key(make=True)).what


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]"])
def test_a_metadata_service_is_no_server(server: FakeTransit, path: Path, host: str) -> None:
    provider = TransitKeyProvider(f"http://{host}", "playground", path=path)
    assert "cannot be reached" in refusal(lambda: provider.master_key(make=True)).what


def test_the_servers_certificate_is_checked(
    server: FakeTransit, path: Path, tmp_path: Path
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http:", "https:")
    stranger = TransitKeyProvider(url, "playground", path=path)
    assert "cannot be reached" in refusal(lambda: stranger.master_key(make=True)).what
    assert server.requests == []
    known = TransitKeyProvider(url, "playground", path=path, ca_file=str(tmp_path / "ca.pem"))
    assert known.master_key(make=True).key_id
