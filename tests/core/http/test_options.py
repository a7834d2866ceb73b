from __future__ import annotations

import pytest

from core.errors import TransportFailed
from core.http import Request, _curl_options
from core.http._curl_options import HARDENING
from tests.core.http.server import answer, says, serve
from tests.core.http.wire import Wire, curl

AGREED = {
    "BUFFERSIZE": 65_536,
    "DEFAULT_PROTOCOL": "https",
    "DISALLOW_USERNAME_IN_URL": 1,
    "FOLLOWLOCATION": 0,
    "HTTP09_ALLOWED": 0,
    "HTTPAUTH": 0,
    "HTTP_CONTENT_DECODING": 0,
    "HTTP_VERSION": 4,
    "MAXAGE_CONN": 60,
    "MAXLIFETIME_CONN": 600,
    "MAXREDIRS": 0,
    "NETRC": 0,
    "NOPROXY": "*",
    "NOSIGNAL": 1,
    "PATH_AS_IS": 1,
    "PROTOCOLS": 3,
    "PROXY": "",
    "REDIR_PROTOCOLS": 0,
    "SSLVERSION": 6,
    "SSL_VERIFYHOST": 2,
    "SSL_VERIFYPEER": 1,
    "TCP_NODELAY": 1,
    "UNRESTRICTED_AUTH": 0,
    "VERBOSE": 0,
}


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    kept = tuple(option for option in HARDENING if option.name not in names)
    assert len(kept) == len(HARDENING) - len(names)
    monkeypatch.setattr(_curl_options, "HARDENING", kept)


def test_a_change_of_an_option_is_deliberate() -> None:
    assert {option.name: option.value for option in HARDENING} == AGREED
    assert len({option.number for option in HARDENING}) == len(HARDENING)


async def test_without_the_proxy_options_an_environment_proxy_would_get_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    without(monkeypatch, "PROXY", "NOPROXY")
    with curl() as transport:
        async with serve(says(answer(b"x"))) as server:
            with pytest.raises(TransportFailed):
                await Wire(transport).client.send(Request("GET", server.url()))
    assert server.requests == []


async def test_without_path_as_is_another_path_would_go_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without(monkeypatch, "PATH_AS_IS")
    with curl() as transport:
        async with serve(says(answer(b"x"))) as server:
            await Wire(transport).client.send(Request("GET", server.url("/a/../b")))
    assert server.requests[0].path == "/b"
