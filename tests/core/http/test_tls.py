from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
import trustme

from core.errors import RequestCancelled, TransportFailed
from core.http import CancelSignal, Request
from tests.core.http.rig import SECRET
from tests.core.http.server import answer, says, serve, silent
from tests.core.http.wire import Wire, curl
from tests.fakes.http_ports import FakeCredential
from tests.fakes.resolver import FakeResolver

RESOLVER = FakeResolver({"secure.test": ("127.0.0.1",), "other.test": ("127.0.0.1",)})
ALLOW = ("secure.test", "other.test")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def cafile(authority: trustme.CA, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("secure.test").configure_cert(context)
    return context


async def test_a_known_authority_passes(tls: ssl.SSLContext, cafile: Path) -> None:
    with curl(cafile) as transport:
        wire = Wire(transport, allow=ALLOW, resolver=RESOLVER, credential=FakeCredential())
        async with serve(says(answer(b"safe")), tls=tls) as server:
            url = server.url(host="secure.test", scheme="https")
            assert (await wire.client.send(Request("GET", url))).body == b"safe"
            assert (await wire.client.send(Request("GET", url))).body == b"safe"
    assert server.connections == 1
    assert server.requests[0].all("authorization") == [f"Bearer {SECRET}"]


async def test_an_unknown_authority_fails_before_the_credential_leaves(
    tls: ssl.SSLContext,
) -> None:
    with curl() as transport:
        wire = Wire(transport, allow=ALLOW, resolver=RESOLVER, credential=FakeCredential())
        async with serve(says(answer(b"x")), tls=tls) as server:
            with pytest.raises(TransportFailed) as failed:
                await wire.client.send(
                    Request("GET", server.url(host="secure.test", scheme="https"))
                )
    assert (failed.value.code, failed.value.number) == ("certificate_invalid", 60)
    assert server.requests == []


async def test_the_certificate_must_name_the_host(tls: ssl.SSLContext, cafile: Path) -> None:
    with curl(cafile) as transport:
        wire = Wire(transport, allow=ALLOW, resolver=RESOLVER)
        async with serve(says(answer(b"x")), tls=tls) as server:
            with pytest.raises(TransportFailed) as failed:
                await wire.client.send(
                    Request("GET", server.url(host="other.test", scheme="https"))
                )
    assert failed.value.code == "certificate_invalid"


async def test_old_protocol_versions_are_refused(tls: ssl.SSLContext, cafile: Path) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        tls.minimum_version = ssl.TLSVersion.TLSv1
        tls.maximum_version = ssl.TLSVersion.TLSv1_1
    tls.set_ciphers("ALL:@SECLEVEL=0")
    with curl(cafile) as transport:
        wire = Wire(transport, allow=ALLOW, resolver=RESOLVER)
        async with serve(says(answer(b"x")), tls=tls) as server:
            with pytest.raises(TransportFailed) as failed:
                await wire.client.send(
                    Request("GET", server.url(host="secure.test", scheme="https"))
                )
    assert failed.value.code == "tls_failed"


async def test_an_abort_closes_the_socket(tls: ssl.SSLContext, cafile: Path) -> None:
    signal = CancelSignal()
    with curl(cafile) as transport:
        wire = Wire(transport, allow=ALLOW, resolver=RESOLVER)
        async with serve(silent, tls=tls) as server:
            url = server.url(host="secure.test", scheme="https")
            task = asyncio.create_task(wire.client.send_cancellable(Request("GET", url), signal))
            await asyncio.wait_for(server.arrived.wait(), 5)
            signal.set()
            await asyncio.wait_for(server.peer_closed.wait(), 5)
            with pytest.raises(RequestCancelled):
                await task
