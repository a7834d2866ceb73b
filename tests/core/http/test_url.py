from __future__ import annotations

import json
import string

import pycurl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ConfigError, RequestRefused
from core.http import parse_url
from tests.cases import cases

ABOUT_THE_LIST = {
    "not listed",
    "another port",
    "a wildcard does not match the apex",
    "suffix on a label boundary",
}


def verdict(url: str, allow: list[str]) -> str:
    try:
        return f"host:{parse_url(url, tuple(allow)).host}"
    except RequestRefused:
        return "refuse"


def test_shared_cases() -> None:
    wrong = []
    for url, allow, expected, why in json.loads(cases("urls.json").read_text())["cases"]:
        if verdict(url, allow) != expected:
            wrong.append((url, allow, why))
        if expected == "refuse" and why not in ABOUT_THE_LIST and verdict(url, []) != "refuse":
            wrong.append((url, [], why))
    assert wrong == []


def test_parts() -> None:
    url = parse_url("https://API.X.com.:8443/a/../b%2e?k=v&x#frag")
    assert (url.scheme, url.host, url.port) == ("https", "api.x.com", 8443)
    assert (url.path, url.query) == ("/a/../b%2e", "k=v&x")
    assert url.text() == "https://api.x.com:8443/a/../b%2e?k=v&x"


def test_defaults() -> None:
    url = parse_url("HTTPS://x.com")
    assert (url.port, url.path, url.query) == (443, "/", "")
    assert parse_url("http://x.com", ("x.com",)).port == 80


def test_ipv6_is_spelled_one_way() -> None:
    assert parse_url("https://[2606:4700:0::1111]/").host == "2606:4700::1111"
    assert parse_url("https://[2606:4700::1111]:1/").text() == "https://[2606:4700::1111]:1/"


def test_the_query_stays_out_of_the_repr() -> None:
    assert "canary" not in repr(parse_url("https://x.com/?key=canary"))


@pytest.mark.parametrize(
    ("url", "allow", "code"),
    [
        ("https://x.com/\x7f", (), "url_invalid"),
        ("https://x.com/a b", (), "url_invalid"),
        ("https://x.com/é", (), "url_invalid"),
        ("https://x.com:/", (), "url_invalid"),
        ("https://x.com:080/", (), "url_invalid"),
        ("https://x.com:٣/", (), "url_invalid"),
        ("https://[::1", (), "url_invalid"),
        ("https://[::1]]/", (), "url_invalid"),
        ("https://[1.2.3.4]/", (), "url_invalid"),
        ("https://-x.com/", (), "url_invalid"),
        ("https://x_y.com/", (), "url_invalid"),
        ("https://a,b.com/", (), "url_invalid"),
        ("https://.x.com/", (), "url_invalid"),
        ("https://x.0x1/", (), "url_invalid"),
        ("https://x.com/" + "a" * 9000, (), "url_invalid"),
        ("ws://x.com/", (), "scheme_not_allowed"),
        ("http://x.com/", (), "scheme_not_allowed"),
        ("http://v1.x.com/", ("*.x.com",), "scheme_not_allowed"),
        ("https://y.com/", ("x.com",), "host_not_allowed"),
        ("https://x.com:444/", ("x.com:443",), "host_not_allowed"),
        ("https://10.0.0.1/", (), "address_not_allowed"),
        ("https://169.254.169.254/", ("169.254.169.254",), "address_not_allowed"),
        ("https://a.localhost/", (), "address_not_allowed"),
    ],
)
def test_refusals_have_codes(url: str, allow: tuple[str, ...], code: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        parse_url(url, allow)
    assert refused.value.code == code
    assert "x.com" not in str(refused.value)


@pytest.mark.parametrize(
    "entry",
    ["", "*", "*.", "https://x.com", "x.com/", "x.com:", "x.com:0", "x.com:70000", "x..com",
     "*.x.com:80", "[::1]:x", "user@x.com", "x.com:٣"],
)  # fmt: skip
def test_a_malformed_allow_entry_is_a_configuration_error(entry: str) -> None:
    with pytest.raises(ConfigError):
        parse_url("https://x.com/", (entry,))


@pytest.mark.parametrize("entry", ["::1", "[::1]", "[::1]:9", "[0::1]:9"])
def test_ipv6_entries(entry: str) -> None:
    assert parse_url("http://[::1]:9/", (entry,)).host == "::1"


pieces = st.sampled_from(
    ["https://", "http://", "//", "/", ":", "@", "\\", "#", "?", "[", "]", "%00", "%2e", ".", "..",
     "a.com", "x.com", "127.0.0.1", "::1", "0x7f", "80", "xn--", " ", "\t", "\n", "\uff0e", "-",
     "*"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=7).map("".join) | st.text(alphabet=string.printable, max_size=30))
def test_what_is_accepted_reads_the_same_in_libcurl(text: str) -> None:
    try:
        url = parse_url(text)
    except RequestRefused:
        return
    theirs = pycurl.CurlUrl(text, pycurl.U_DISALLOW_USER | pycurl.U_PATH_AS_IS)
    assert theirs.scheme == url.scheme
    assert theirs.host.strip("[]").lower().removesuffix(".") == url.host
    on_the_wire = pycurl.CurlUrl(url.text(), pycurl.U_DISALLOW_USER | pycurl.U_PATH_AS_IS)
    assert on_the_wire.path == theirs.path
    assert (on_the_wire.query or "") == (theirs.query or "")
