"""URLs, parsed once and strictly; the wire gets what was checked.

The grammar is narrower than RFC 3986 on purpose. What two parsers could read in
two ways (user info, backslashes, controls, percent or Unicode in a host, numeric
hosts that are no canonical address) is refused instead of normalised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from core.config import AllowList, canonical_host, parse_address
from core.http._addresses import AddressPolicy
from core.http._outcomes import Ending

_MAX_LENGTH = 8_192
_SHAPE = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?P<host>\[[^\[\]/?#@]*\]|[^\[\]/?#@:]*)(?P<port>:[0-9]*)?"
    r"(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?:#.*)?"
)
_VISIBLE = re.compile(r"[\x21-\x5b\x5d-\x7e]+")  # ASCII without space, controls and backslash
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Url:
    """A URL that passed the grammar.

    Attributes:
        scheme: ``https`` or ``http``.
        host: lower case, without a trailing dot; an IPv6 address without brackets.
        port: given or the scheme's own.
        path: as written, at least ``/``.
        query: as written, without the question mark; may hold a secret.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str = field(repr=False)

    @property
    def bracketed_host(self) -> str:
        """The host as an authority spells it."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def text(self) -> str:
        """Return the URL as it goes to the transport."""
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{self.bracketed_host}:{self.port}{self.path}{query}"


def parse_url(text: str, allow: tuple[str, ...] = ()) -> Url:
    """Parse ``text`` and hold it against the scheme and host gates.

    Args:
        text: an absolute URL.
        allow: entries ``host``, ``host:port`` or ``*.suffix``; empty means no list.
            A literal entry also frees http and a private address for its host.

    Raises:
        RequestRefused: see ``.code``.
        ConfigError: an allow entry is malformed.
    """
    url = split_url(text)
    check_url(url, AllowList.of(allow), AddressPolicy())
    return url


def split_url(text: str) -> Url:
    """Parse ``text`` by the grammar alone.

    Raises:
        RequestRefused: with code ``url_invalid`` or ``scheme_not_allowed``.
    """
    if not isinstance(text, str) or len(text) > _MAX_LENGTH or not _VISIBLE.fullmatch(text):
        raise Ending.URL_INVALID.error()
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise Ending.URL_INVALID.error()
    scheme = shape["scheme"].lower()
    if scheme not in _PORTS:
        raise Ending.SCHEME_NOT_ALLOWED.error()
    try:
        host = canonical_host(shape["host"])
    except ValueError:
        raise Ending.URL_INVALID.error() from None
    return Url(
        scheme=scheme,
        host=host,
        port=_port(shape["port"], scheme),
        path=shape["path"] or "/",
        query=shape["query"] or "",
    )


def check_url(url: Url, allow: AllowList, policy: AddressPolicy) -> None:
    """Raise ``RequestRefused`` unless ``url`` passes list, scheme and literal address."""
    literal = allow.names(url.host, url.port)
    if not allow.admits(url.host, url.port):
        raise Ending.HOST_NOT_ALLOWED.error(where=url.host)
    if url.scheme == "http" and not literal:
        raise Ending.SCHEME_NOT_ALLOWED.error(where=url.host)
    if parse_address(url.host) is not None:
        refused = not policy.allows(url.host, literal=literal)
    else:
        refused = not literal and (url.host == "localhost" or url.host.endswith(".localhost"))
    if refused:
        raise Ending.ADDRESS_NOT_ALLOWED.error(where=url.host)


def _port(text: str | None, scheme: str) -> int:
    if text is None:
        return _PORTS[scheme]
    digits = text[1:]
    if not digits or len(digits) > 5 or digits.startswith("0") or int(digits) > 65_535:
        raise Ending.URL_INVALID.error()
    return int(digits)
