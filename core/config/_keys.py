"""The shape of ``[keys]``, for pydantic."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from core.config._fields import GuardedUrl, Misplaced, Table
from core.config._types import KeysEntry

_SEGMENT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_FIELDS = {
    "file": {"path"},
    "environment": set[str](),
    "keyring": {"service", "username"},
    "transit": {"path", "url", "mount", "key", "token_variable", "ca_file"},
}
_REQUIRED = {"transit": ("url", "key")}

_Text = Annotated[str, Field(min_length=1, max_length=1_000)]


def _segment(text: str) -> str:
    if not _SEGMENT.fullmatch(text):
        raise ValueError("must be a name (letters, digits, '.', '_', '-'; no dot first)")
    return text


def _mount(text: str) -> str:
    if not all(_SEGMENT.fullmatch(part) for part in text.split("/")):
        raise ValueError("must be a path of names (letters, digits, '.', '_', '-'), like transit")
    return text


def _variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise ValueError("must be the name of an environment variable, never the token")
    return text


def _server(text: str) -> str:
    if "?" in text:
        raise ValueError("must be a URL without a query")
    return text.rstrip("/")


class Keys(Table):
    """``[keys]``."""

    provider: Literal["file", "environment", "keyring", "transit"] = "file"
    path: _Text | None = None
    service: _Text | None = None
    username: _Text | None = None
    url: Annotated[GuardedUrl, AfterValidator(_server)] | None = None
    mount: Annotated[str, AfterValidator(_mount)] | None = None
    key: Annotated[str, AfterValidator(_segment)] | None = None
    token_variable: Annotated[str, AfterValidator(_variable)] | None = None
    ca_file: _Text | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        given = self._given()
        for name in given:
            if name not in _FIELDS[self.provider]:
                raise Misplaced(f"is not for provider '{self.provider}'", name)
        for name in _REQUIRED.get(self.provider, ()):
            if name not in given:
                raise ValueError(f"needs '{name}' with provider '{self.provider}'")
        return self

    def _given(self) -> dict[str, str]:
        return self.model_dump(exclude_none=True, exclude={"provider"})

    def entry(self) -> KeysEntry:
        """Return the table as the rest of the core knows it."""
        given = self._given()
        path = given.pop("path", None)
        return KeysEntry(
            provider=self.provider, path=None if path is None else Path(path).expanduser(), **given
        )
