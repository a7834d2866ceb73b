"""The shape of the file, for pydantic. Imported only when there is something to check."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from core.config._allow import AllowList
from core.config._names import is_header_name, is_reserved_header, is_secret_name
from core.errors import ConfigError

_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}")


def _secret_name(text: str) -> str:
    if not is_secret_name(text):
        raise ValueError(
            "must be a secret's name (a-z, 0-9, '.', '_', '-', at most 64), never its value"
        )
    return _not_reserved(text)


def _model_name(text: str) -> str:
    if not _MODEL_NAME.fullmatch(text):
        raise ValueError("is no valid name (letters, digits and . _ : / -, at most 64)")
    return _not_reserved(text)


def _not_reserved(text: str) -> str:
    if text.startswith("demo"):
        raise ValueError("is reserved: names that begin with 'demo' belong to the built-in demo")
    return text


def _base_url(text: str) -> str:
    wrong = ValueError("must be a URL like https://host/v1, without user, query or fragment")
    try:
        parts = urlsplit(text)
        AllowList.of((parts.netloc,))
    except (ValueError, ConfigError):
        raise wrong from None
    if (
        parts.scheme not in ("http", "https")
        or not re.fullmatch(r"[!-~]+", text)
        or "*" in parts.netloc
        or "?" in text
        or "#" in text
        or "\\" in text
    ):
        raise wrong
    return text.rstrip("/")


def _host(text: str) -> str:
    try:
        AllowList.of((text,))
    except ConfigError:
        raise ValueError(
            "must be host, host:port or *.suffix, without a scheme or a path"
        ) from None
    return text


def _header(text: str) -> str:
    if not is_header_name(text):
        raise ValueError("must be a header's name")
    if is_reserved_header(text):
        raise ValueError("must be a header that the server expects the secret in")
    return text


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Model(_Table):
    """``[models.NAME]``."""

    provider: Literal["openai-chat"]
    base_url: Annotated[str, AfterValidator(_base_url)]
    model: Annotated[str, Field(min_length=1, max_length=200)]
    credential: Annotated[str, AfterValidator(_secret_name)] | None = None


class Credential(_Table):
    """``[credentials.NAME]``."""

    placement: Literal["bearer", "header"] = "bearer"
    field: Annotated[str, AfterValidator(_header)] | None = None
    hosts: Annotated[list[Annotated[str, AfterValidator(_host)]], Field(min_length=1)] = Field(
        default_factory=list
    )

    @model_validator(mode="after")
    def _field_fits(self) -> Credential:
        if (self.placement == "header") != (self.field is not None):
            raise ValueError(
                "needs 'field' (a header's name) with placement 'header', and only then"
            )
        return self


class File(_Table):
    """The whole file."""

    models: dict[Annotated[str, AfterValidator(_model_name)], Model] = Field(default_factory=dict)
    credentials: dict[Annotated[str, AfterValidator(_secret_name)], Credential] = Field(
        default_factory=dict
    )


_TABLES: dict[str, type[BaseModel]] = {"models": Model, "credentials": Credential}


def keys_at(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys that the table at ``path`` may have."""
    table = _TABLES[path[0]] if path else File
    return tuple(table.model_fields)
