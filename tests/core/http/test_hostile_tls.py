"""Servers whose TLS is bad: nothing of the request leaves, each ends with its code and one row."""

from __future__ import annotations

import asyncio
import ssl
import time
import warnings

import pytest

from core.errors import HttpError
from core.http import Bounds, Request
from core.model import AuditAction
from tests.core.http.hostile import WAYS, Talk, listen, reset, through
from tests.core.http.secure import ALLOW, HOST, OTHER, Authority, names
from tests.core.http.server import answer, says, serve
from tests.core.http.wire import Wire, curl, descriptors
from tests.fakes.http_ports import FakeCredential
from tests.support.waiting import until

BOUNDS = Bounds(total=1.0, connect=0.2, first_byte=0.2, silence=0.2)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"))


def outdated(authority: Authority) -> ssl.SSLContext:
    context = authority.context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def context_of(kind: str, authority: Authority, stranger: Authority) -> ssl.SSLContext:
    if kind == "expired":
        return authority.context(days=(-9, -1))
    if kind == "not yet valid":
        return authority.context(days=(1, 9))
    if kind == "another host":
        return authority.context(OTHER)
    if kind == "a wildcard above":
        return authority.context("*.secure.test")
    if kind == "an unknown authority":
        return stranger.context()
    return outdated(authority)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("expired", "certificate_invalid"),
        ("not yet valid", "certificate_invalid"),
        ("another host", "certificate_invalid"),
        ("a wildcard above", "certificate_invalid"),
        ("an unknown authority", "certificate_invalid"),
        ("TLS 1.0 and 1.1", "tls_failed"),
    ],
)
async def test_a_bad_certificate_or_version_ends_the_call_before_the_request(
    authority: Authority, stranger: Authority, kind: str, code: str, way: str
) -> None:
    context = context_of(kind, authority, stranger)
    with curl(authority.cafile) as transport:
        wire = Wire(
            transport, allow=ALLOW, resolver=names(), credential=FakeCredential(), bounds=BOUNDS
        )
        async with serve(says(answer(b"x")), tls=context) as server:
            with pytest.raises(HttpError) as failed:
                url = server.url(host=HOST, scheme="https")
                await through(way, wire.client, Request("GET", url))
    assert failed.value.code == code
    assert server.requests == []
    assert (wire.audit.only.action, wire.audit.only.success) == (AuditAction.HTTP_CALL, False)


async def stall(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read(-1)


async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(answer(b"not TLS at all"))
    await writer.drain()


async def hang_up(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read(1)


async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    reset(writer)


async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    # A handshake record that announces 16 KiB, of which a byte comes now and then.
    writer.write(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
    while True:
        writer.write(b"\x03")
        await writer.drain()
        await asyncio.sleep(0.02)


async def alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"\x15\x03\x03\x00\x02\x02\x28")  # fatal: handshake_failure
    await writer.drain()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("talk", "code"),
    [
        (stall, "timeout_connect"),
        (trickle, "timeout_connect"),
        (plain, "tls_failed"),
        (alert, "tls_failed"),
        (hang_up, "tls_failed"),
        (slam, "tls_failed"),
    ],
    ids=["stall", "trickle", "no TLS", "alert", "close", "reset"],
)
async def test_a_broken_handshake_ends_within_its_bound(
    authority: Authority, talk: Talk, code: str, way: str
) -> None:
    with curl(authority.cafile) as transport:
        wire = Wire(
            transport, allow=ALLOW, resolver=names(), credential=FakeCredential(), bounds=BOUNDS
        )
        async with listen(talk) as server:
            begun = time.monotonic()
            with pytest.raises(HttpError) as failed:
                await through(way, wire.client, Request("GET", server.url(HOST, "https")))
            took = time.monotonic() - begun
    assert failed.value.code == code
    assert took < 2
    assert (wire.audit.only.action, wire.audit.only.success) == (AuditAction.HTTP_CALL, False)
    assert server.connections == 1


async def test_bad_handshakes_leave_no_descriptor(authority: Authority) -> None:
    before = descriptors()
    with curl(authority.cafile) as transport:
        wire = Wire(transport, allow=ALLOW, resolver=names(), bounds=BOUNDS)
        for talk in (stall, plain, alert, hang_up, slam):
            async with listen(talk) as server:
                with pytest.raises(HttpError):
                    await wire.client.send(Request("GET", server.url(HOST, "https")))
    await until(lambda: descriptors() <= before)


async def test_a_body_cut_without_a_goodbye_is_not_whole(authority: Authority) -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhalf of it")
        await writer.drain()
        writer.transport.abort()

    with curl(authority.cafile) as transport:
        wire = Wire(transport, allow=ALLOW, resolver=names(), bounds=BOUNDS)
        async with listen(cut, authority.context()) as server:
            with pytest.raises(HttpError) as failed:
                await wire.client.send(Request("GET", server.url(HOST, "https")))
    assert failed.value.code == "connection_lost"
