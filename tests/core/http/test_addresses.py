from __future__ import annotations

import ipaddress
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.http import AddressPolicy
from tests.cases import cases

POLICY = AddressPolicy()
METADATA = ("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16")


def test_shared_cases() -> None:
    table = json.loads(cases("addresses.json").read_text())
    assert [one for one in table["refuse"] if POLICY.allows(one)] == []
    assert [one for one in table["allow"] if not POLICY.allows(one)] == []


@pytest.mark.parametrize(
    "text",
    ["", " ", "8.8.8.8 ", "08.8.8.8", "8.8.8", "134744072", "[::1]", "2606:4700::1%eth0",
     "example.com", "8.8.8.8:80", "\uff18.8.8.8", "8.8.8.8\x00"],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    assert POLICY.allows(text) is False


@pytest.mark.parametrize("value", [None, 134744072, b"\x08\x08\x08\x08", 1.5])
def test_what_is_no_text_is_refused(value: object) -> None:
    assert POLICY.allows(value) is False  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "172.18.0.5", "::1", "fd00::1", "169.254.1.1"]
)
def test_a_literal_entry_frees_a_private_address(address: str) -> None:
    assert not POLICY.allows(address)
    assert POLICY.allows(address, literal=True)


def embeddings(address: str) -> list[str]:
    four = ipaddress.IPv4Address(address).packed
    flipped = bytes(byte ^ 0xFF for byte in four)
    raw = [
        bytes(10) + b"\xff\xff" + four,
        bytes(12) + four,
        bytes(8) + b"\xff\xff\x00\x00" + four,
        bytes.fromhex("0064ff9b") + bytes(8) + four,
        bytes.fromhex("0064ff9b0001") + four[:2] + b"\x00" + four[2:] + bytes(5),
        bytes.fromhex("2002") + four + bytes(10),
        bytes.fromhex("20010000") + four + bytes(8),
        bytes.fromhex("20010000") + bytes(8) + flipped,
    ]
    return [str(ipaddress.IPv6Address(one)) for one in raw]


@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_refused_under_every_policy_and_in_every_embedding(address: str) -> None:
    for spelling in [address, *embeddings(address)]:
        assert not POLICY.allows(spelling), spelling
        assert not POLICY.allows(spelling, literal=True), spelling


@pytest.mark.parametrize("address", ["fd00:ec2::254", "fd20:ce::254"])
def test_ipv6_metadata_is_refused_under_every_policy(address: str) -> None:
    assert not POLICY.allows(address, literal=True)


@settings(max_examples=200, deadline=None)
@given(st.ip_addresses(v=4))
def test_a_mapped_address_has_the_verdict_of_the_one_inside(
    address: ipaddress.IPv4Address,
) -> None:
    assert POLICY.allows(f"::ffff:{address}") == POLICY.allows(str(address))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_no_text_raises(text: str) -> None:
    assert POLICY.allows(text) in {True, False}
