"""Kinds of values that several tables of the file hold, for pydantic."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict

from core.config._allow import AllowList
from core.config._hosts import parse_address
from core.config._names import is_secret_name
from core.errors import ConfigError


class Table(BaseModel):
    """A table of the file: no unknown keys, no guessing of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Misplaced(ValueError):
    """What is wrong with one key of a table that only the whole table can tell.

    Attributes:
        keys: the way from the table to the value.
    """

    def __init__(self, what: str, *keys: str) -> None:
        super().__init__(what)
        self.keys = keys


def not_reserved(text: str) -> str:
    """Return ``text`` unless it is a name of the built-in demo's."""
    if text.startswith("demo"):
        raise ValueError("is reserved: names that begin with 'demo' belong to the built-in demo")
    return text


def _secret_name(text: str) -> str:
    if not is_secret_name(text):
        raise ValueError(
            "must be a secret's name (a-z, 0-9, '.', '_', '-', at most 64), never its value"
        )
    return not_reserved(text)


def _host(text: str) -> str:
    try:
        AllowList.of((text,))
    except ConfigError:
        raise ValueError(
            "must be host, host:port or *.suffix, without a scheme or a path"
        ) from None
    return text


def url_scheme(text: str) -> str | None:
    """Return the scheme of a URL without user, fragment or odd host; None if it is none."""
    try:
        parts = urlsplit(text)
        AllowList.of((parts.netloc,))
    except (ValueError, ConfigError):
        return None
    plain = re.fullmatch(r"[!-~]+", text) and "#" not in text and "\\" not in text
    if parts.scheme not in ("http", "https") or not plain or "*" in parts.netloc:
        return None
    return parts.scheme


def _guarded_url(text: str) -> str:
    scheme = url_scheme(text)
    if scheme is None:
        raise ValueError("must be a URL like https://host/path, without user or fragment")
    address = parse_address(urlsplit(text).hostname or "")
    if scheme == "http" and not (address is not None and address.is_loopback):
        raise ValueError("must begin with https:// (http only for a literal loopback address)")
    return text


SecretName = Annotated[str, AfterValidator(_secret_name)]
Host = Annotated[str, AfterValidator(_host)]
# Where something secret of ours is posted to.
GuardedUrl = Annotated[str, AfterValidator(_guarded_url)]
