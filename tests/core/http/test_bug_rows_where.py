"""Rows of reports of other clients about where a call may go, as in ``test_bug_rows``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from core.errors import HttpError, RequestRefused, TransportFailed
from core.http import AddressPolicy, Bounds, CurlTransport, Request, parse_url
from tests.core.http.server import answer, says, serve
from tests.core.http.test_addresses import embeddings
from tests.core.http.wire import Wire, curl
from tests.fakes.http_ports import FakeCredential
from tests.fakes.resolver import FakeResolver


@pytest.fixture
def transport() -> Iterator[CurlTransport]:
    with curl() as made:
        yield made


@pytest.mark.parametrize(
    "url",
    ["https://localhost./", "https://169.254.169.254./", "https://api.x.com../", "https://./"],
)
def test_row_33_a_trailing_dot_hides_nothing(url: str) -> None:
    with pytest.raises(RequestRefused):
        parse_url(url)
    assert parse_url("https://api.x.com./").host == "api.x.com"
    assert parse_url("https://api.x.com./", ("api.x.com",)).host == "api.x.com"


@pytest.mark.parametrize(
    "host",
    ["a\u3002com", "a\uff0ecom", "a\uff61com", "\uff11.1.1.1", "\u24d4x.com", "exa\u00admple.com",
     "\uff41.com", "\u2100.com", "a\u200b.com", "b\u00fccher.de", "a\uff03.com", "a\uff0fb.com",
     "a\u2024com", "\u00df.com"],
)  # fmt: skip
def test_row_34_a_host_beyond_ascii_is_refused(host: str) -> None:
    for allow in ((), ("a.com",), ("*.com",)):
        with pytest.raises(RequestRefused):
            parse_url(f"https://{host}/", allow)


@pytest.mark.parametrize(
    "inside", ["127.0.0.1", "10.0.0.1", "169.254.1.1", "192.168.0.1", "100.64.0.1", "0.0.0.0"]
)
def test_rows_32_36_37_39_40_an_embedded_address_has_its_own_verdict(inside: str) -> None:
    policy = AddressPolicy()
    for spelling in embeddings(inside):
        assert not policy.allows(spelling), spelling
    for zone in ("fe80::1%eth0", "::1%lo", "2606:4700::1%25eth0"):
        assert not policy.allows(zone)
        with pytest.raises(RequestRefused):
            parse_url(f"https://[{zone}]/")
    for dotted_hex in ("0x7f.0x0.0x0.0x1", "0x7f000001", "017700000001", "127.0.0x1"):
        with pytest.raises(RequestRefused):
            parse_url(f"https://{dotted_hex}/")


class Rebinding(FakeResolver):
    """Says one thing to the first who asks, and another from then on."""

    async def resolve(self, host: str) -> tuple[str, ...]:
        answers = await super().resolve(host)
        self.answers[host] = ("127.0.0.1",)
        return answers


async def test_row_42_what_was_vetted_is_what_is_connected_to(transport: CurlTransport) -> None:
    resolver = Rebinding({"rebind.test": ("192.0.9.9",)})
    wire = Wire(transport, allow=("*.test",), resolver=resolver, bounds=Bounds(connect=0.1))
    async with serve(says(answer(b"x"))) as server:
        url = server.url(host="rebind.test", scheme="https")
        with pytest.raises(HttpError) as first:
            await wire.client.send(Request("GET", url))
        with pytest.raises(RequestRefused) as second:
            await wire.client.send(Request("GET", url))
    assert first.value.code in {"timeout_connect", "connect_failed"}  # it went to 192.0.9.9
    assert second.value.code == "address_not_allowed"
    assert server.connections == 0
    assert resolver.asked == ["rebind.test"] * 2


async def test_row_43_two_clients_pin_one_host_to_two_places(transport: CurlTransport) -> None:
    async with serve(says(answer(b"one"))) as first:
        wires = [
            Wire(
                transport,
                allow=("shared.test",),
                resolver=FakeResolver({"shared.test": (address,)}),
                bounds=Bounds(connect=1),
            )
            for address in ("127.0.0.1", "127.0.0.9")
        ]
        url = first.url(host="shared.test")
        results = await asyncio.gather(
            *(wire.client.send(Request("GET", url)) for wire in wires * 3), return_exceptions=True
        )
    bodies = [getattr(one, "body", None) for one in results]
    assert bodies == [b"one", None] * 3
    assert all(isinstance(one, TransportFailed) for one in results[1::2])


async def test_row_50_a_redirect_a_rebinding_and_a_mapped_address_at_once(
    transport: CurlTransport,
) -> None:
    resolver = FakeResolver({"first.test": ("127.0.0.1",), "second.test": ("::ffff:100.64.0.1",)})
    wire = Wire(
        transport, allow=("first.test", "*.test"), resolver=resolver, credential=FakeCredential()
    )
    async with serve(says(answer(b"", "302 Found", "Location: https://second.test/"))) as server:
        url = server.url(host="first.test")
        response = await wire.client.send(Request("GET", url))
        assert response.status == 302
        assert resolver.asked == ["first.test"]  # the target was not even looked up
        with pytest.raises(RequestRefused):
            await wire.client.send(Request("GET", response.header("location") or ""))
        resolver.answers["first.test"] = ("169.254.169.254",)
        with pytest.raises(RequestRefused):
            await wire.client.send(Request("GET", url))
    assert len(server.requests) == 1
    assert len(wire.audit.rows) == 3
