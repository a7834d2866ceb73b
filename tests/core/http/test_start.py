"""What is refused at the start, and what is not loaded before it is needed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

import core.http
from core.errors import ConfigError, TransportFailed
from core.http import CancellableHttpClient, CurlTransport, HttpClient, Request
from tests.core.http.rig import Rig
from tests.core.http.server import answer, says, serve
from tests.core.http.wire import Wire, curl


def test_the_light_names_load_no_transport() -> None:
    script = (
        "import sys\n"
        "from core.http import AddressPolicy, CancelSignal, Request, parse_url\n"
        "parse_url('https://a.com/'); AddressPolicy().allows('8.8.8.8')\n"
        "CancelSignal().set(); repr(Request('GET', 'https://a.com/'))\n"
        "heavy = {'pycurl', 'asyncio', 'ssl', 'textual', 'rich', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    for name in core.http.__all__:
        assert getattr(core.http, name) is not None
    with pytest.raises(AttributeError):
        core.http.Nothing  # noqa: B018


def test_the_client_can_be_told_by_its_features() -> None:
    async def main() -> None:
        client = Rig().client
        assert isinstance(client, HttpClient)
        assert isinstance(client, CancellableHttpClient)
        assert client.supports_cancellation

    asyncio.run(main())


def test_keys_that_would_be_logged_refuse_the_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", "/tmp/keys")
    with pytest.raises(ConfigError) as refused:
        CurlTransport()
    assert refused.value.where == "SSLKEYLOGFILE"


def test_an_old_libcurl_refuses_the_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    import pycurl

    monkeypatch.setattr(pycurl, "version_info", lambda: (11, "8.19.1-DEV"))
    with pytest.raises(ConfigError, match=r"too old: 8\.19\.1-DEV"):
        CurlTransport()


async def test_a_forked_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with curl() as transport:
        wire = Wire(transport)
        async with serve(says(answer(b"x"))) as server:
            await wire.client.send(Request("GET", server.url()))
            child = os.getpid() + 1
            monkeypatch.setattr(os, "getpid", lambda: child)
            with pytest.raises(TransportFailed) as refused:
                await wire.client.send(Request("GET", server.url()))
            monkeypatch.undo()
    assert refused.value.code == "transport_unusable"
    assert len(server.requests) == 1
    assert not wire.audit.rows[-1].success


@pytest.mark.parametrize("body", ["text", None, 5, bytearray(b"x")])
def test_a_body_is_bytes(body: object) -> None:
    with pytest.raises(TypeError):
        Request("POST", "https://a.com/", (), body)  # type: ignore[arg-type]


class Broken:
    """A multi handle whose next action raises."""

    def __init__(self, real: object, error: BaseException) -> None:
        self._real = real
        self._error = error

    def socket_action(self, *_anything: object) -> None:
        raise self._error

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


async def test_a_broken_multi_fails_its_calls_and_is_replaced() -> None:
    import pycurl

    with curl() as transport:
        wire = Wire(transport)
        async with serve(says(answer(b"x"))) as server:
            await wire.client.send(Request("GET", server.url()))
            (driver,) = transport._drivers.values()
            driver._multi = Broken(driver._multi, pycurl.error("canary"))
            calls = [wire.client.send(Request("GET", server.url())) for _ in range(3)]
            results = await asyncio.gather(*calls, return_exceptions=True)
            codes = [one.code for one in results if isinstance(one, TransportFailed)]
            assert codes == ["transport_failed"] * 3
            assert (await wire.client.send(Request("GET", server.url()))).body == b"x"
    assert [row.success for row in wire.audit.rows] == [True, False, False, False, True]


async def test_what_libcurl_does_not_take_fails_without_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pycurl

    from core.http import _curl_options

    def refuse(*_anything: object) -> None:
        raise pycurl.error(43, "canary")

    monkeypatch.setattr(_curl_options, "apply", refuse)
    with curl() as transport:
        wire = Wire(transport)
        with pytest.raises(TransportFailed) as refused:
            await wire.client.send(Request("GET", "http://127.0.0.1:1/"))
    assert (refused.value.code, refused.value.number) == ("transport_unusable", 43)
    assert "canary" not in repr(refused.value)
    assert refused.value.__context__ is None
    assert wire.audit.only.message == "The transport could not start; nothing was sent"
