"""Every option of every transfer, in one place.

An option and its reason stand together. pycurl cannot read an option back, so
nothing else may set one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pycurl

from core.http._seam import Belt, Pin, WireRequest

_DISALLOW_USERNAME_IN_URL = 278


class Option(NamedTuple):
    """One fixed option: its name for people, its number and value for libcurl."""

    name: str
    number: int
    value: int | str


def _option(name: str, value: int | str, number: int | None = None) -> Option:
    return Option(name, getattr(pycurl, name) if number is None else number, value)


HARDENING = (
    _option("NOSIGNAL", 1),  # no SIGALRM: signals belong to the program
    _option("PROTOCOLS", pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),  # libcurl speaks 23
    _option("REDIR_PROTOCOLS", 0),  # a redirect is an answer, three locks
    _option("FOLLOWLOCATION", 0),
    _option("MAXREDIRS", 0),
    _option("PROXY", ""),  # a proxy of the environment would see the credential
    _option("NOPROXY", "*"),
    _option("NETRC", 0),  # no second source of credentials
    _option("UNRESTRICTED_AUTH", 0),
    _option("HTTPAUTH", 0),
    _option("DISALLOW_USERNAME_IN_URL", 1, _DISALLOW_USERNAME_IN_URL),
    _option("DEFAULT_PROTOCOL", "https"),  # never guess http
    _option("SSL_VERIFYPEER", 1),
    _option("SSL_VERIFYHOST", 2),
    _option("SSLVERSION", pycurl.SSLVERSION_TLSv1_2),
    _option("HTTP09_ALLOWED", 0),  # a body without a head is no answer
    _option("HTTP_VERSION", pycurl.CURL_HTTP_VERSION_2TLS),  # no HTTP/3: it would leave the pin
    _option("HTTP_CONTENT_DECODING", 0),  # no decompression, so no bombs
    _option("PATH_AS_IS", 1),  # what was checked is what is sent
    _option("BUFFERSIZE", 65_536),
    _option("TCP_NODELAY", 1),
    _option("MAXAGE_CONN", 60),
    _option("MAXLIFETIME_CONN", 600),
    _option("VERBOSE", 0),  # it would print headers
)


def template(cafile: str | None) -> Any:
    """Return an easy handle with all fixed options, to be duplicated for each transfer."""
    easy = pycurl.Curl()
    for option in HARDENING:
        easy.setopt(option.number, option.value)
    if cafile is not None:
        easy.setopt(pycurl.CAINFO, cafile)
    # A pinned name never reaches libcurl's resolver; anything else stops here.
    easy.setopt(pycurl.RESOLVER_START_FUNCTION, _refuse_lookup)
    return easy


def apply(easy: Any, request: WireRequest, pin: Pin, belt: Belt, stale: list[str]) -> None:
    """Set what differs from transfer to transfer.

    Args:
        easy: a duplicate of the template.
        request: what goes out.
        pin: where it may go.
        belt: libcurl's own bounds.
        stale: labels with ports whose entries leave libcurl's name cache.
    """
    url = request.url
    addresses = ",".join(f"[{one}]" if ":" in one else one for one in pin.addresses)
    easy.setopt(pycurl.URL, url.text())
    easy.setopt(pycurl.CONNECT_TO, [f"{url.bracketed_host}:{url.port}:{pin.label}:{url.port}"])
    # Plain entries: one with "+", or a cache timeout of 0, would silently lose the pin.
    easy.setopt(
        pycurl.RESOLVE,
        [*(f"-{entry}" for entry in stale), f"{pin.label}:{url.port}:{addresses}"],
    )
    easy.setopt(pycurl.HTTPHEADER, _header_lines(request))
    easy.setopt(pycurl.CONNECTTIMEOUT_MS, belt.connect_ms)
    easy.setopt(pycurl.TIMEOUT_MS, belt.total_ms)
    _apply_method(easy, request)


def _apply_method(easy: Any, request: WireRequest) -> None:
    method = request.method
    if method == "HEAD":
        easy.setopt(pycurl.NOBODY, 1)
    elif request.body or method in {"POST", "PUT", "PATCH"}:
        easy.setopt(pycurl.POSTFIELDS, request.body)
        easy.setopt(pycurl.CUSTOMREQUEST, method)
    elif method != "GET":
        easy.setopt(pycurl.CUSTOMREQUEST, method)


def _header_lines(request: WireRequest) -> list[str]:
    lines = ["Expect:"]
    typed = False
    for name, value in request.headers:
        # "Name;" is how libcurl spells an empty value; "Name:" takes one of its own away.
        lines.append(f"{name}: {value}" if value and not value.isspace() else f"{name};")
        typed = typed or name.lower() == "content-type"
    if not typed:
        lines.append("Content-Type:")
    return lines


def _refuse_lookup(*_anything: object) -> int:
    return 1
