"""The shape of ``[credentials.NAME]``, for pydantic: what makes no sense is refused."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from core.config._fields import GuardedUrl, Host, Misplaced, SecretName, Table
from core.config._names import field_fault, is_body_field, is_header_value
from core.config._types import DEFAULT_FIELDS, OAuthEntry, Placement

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_BODY_FIELDS = 8
_MAX_PARAMS = 32
_MAX_BUFFER_S = 86_400
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")  # RFC 6749, section 3.3
# What the token request says by itself.
_OWN_PARAMS = frozenset({"grant_type", "client_id", "client_secret", "refresh_token", "scope"})


def _moment(value: object) -> object:
    """Return UTC microseconds; a date lasts until its end, a time without offset is UTC."""
    try:
        if isinstance(value, datetime):
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        elif isinstance(value, date):
            moment = datetime.combine(value + timedelta(days=1), time.min, UTC)
        else:
            raise ValueError(
                "must be a date or a time, without quotes: 2027-01-31 or 2027-01-31T12:00:00Z"
            )
        return (moment - _EPOCH) // timedelta(microseconds=1)
    except OverflowError:
        raise ValueError("lies too far in the future") from None


def _body_field(text: str) -> str:
    if not is_body_field(text):
        raise ValueError("must be a body field's name (letters, digits, '_'; no digit first)")
    return text


def _username(text: str) -> str:
    if not text or len(text) > 255 or ":" in text or "\t" in text or not is_header_value(text):
        raise ValueError("must be 1 to 255 printable ASCII characters without ':'")
    return text


def _client_id(text: str) -> str:
    if not text or len(text) > 1_000 or "\t" in text or not is_header_value(text):
        raise ValueError("must be 1 to 1,000 printable ASCII characters")
    return text


def _scope(text: str) -> str:
    if not _SCOPE.fullmatch(text):
        raise ValueError("must be scopes: printable ASCII without spaces, quotes or backslashes")
    return text


def _once(texts: list[str]) -> list[str]:
    if len(set(texts)) < len(texts):
        raise ValueError("names something twice")
    return texts


class OAuth(Table):
    """``[credentials.NAME.oauth]``."""

    token_url: GuardedUrl
    grant: Literal["client_credentials", "refresh_token"]
    client_id: Annotated[str, AfterValidator(_client_id)]
    client_secret: SecretName
    refresh_token: SecretName | None = None
    scopes: Annotated[list[Annotated[str, AfterValidator(_scope)]], AfterValidator(_once)] = Field(
        default_factory=list
    )
    params: Annotated[dict[str, str], Field(max_length=_MAX_PARAMS)] = Field(default_factory=dict)
    expiry_buffer_seconds: Annotated[int, Field(ge=0, le=_MAX_BUFFER_S)] = 60

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.grant == "refresh_token":
            if self.refresh_token is None:
                raise ValueError("needs 'refresh_token' (a secret's name) with that grant")
            if self.refresh_token == self.client_secret:
                raise Misplaced("must be another secret than 'client_secret'", "refresh_token")
        elif self.refresh_token is not None:
            raise Misplaced("is only for grant 'refresh_token'", "refresh_token")
        for name, value in self.params.items():
            if name in _OWN_PARAMS:
                raise Misplaced("is said by the token request itself", "params", name)
            if not name.isprintable() or not value.isprintable() or not name:
                raise Misplaced("must be printable text", "params", name)
        return self

    def entry(self) -> OAuthEntry:
        """Return the table as the rest of the core knows it."""
        return OAuthEntry(
            token_url=self.token_url,
            grant=self.grant,
            client_id=self.client_id,
            client_secret=self.client_secret,
            refresh_token=self.refresh_token,
            scopes=tuple(self.scopes),
            params=tuple(self.params.items()),
            expiry_buffer_s=self.expiry_buffer_seconds,
        )


class Credential(Table):
    """``[credentials.NAME]``."""

    placement: Placement = "bearer"
    field: str | None = None
    hosts: Annotated[list[Host], Field(min_length=1)] = Field(default_factory=list)
    username: Annotated[str, AfterValidator(_username)] | None = None
    tools: (
        Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], AfterValidator(_once)]
        | None
    ) = None
    expires: Annotated[int, BeforeValidator(_moment)] | None = None
    body_fields: Annotated[
        dict[Annotated[str, AfterValidator(_body_field)], SecretName],
        Field(max_length=_MAX_BODY_FIELDS),
    ] = Field(default_factory=dict)
    oauth: OAuth | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        self._check_field()
        if self.username is not None and self.placement != "basic":
            raise Misplaced("is only for placement 'basic'", "username")
        if self.placement == "oauth2" and self.oauth is None:
            raise ValueError("needs a table 'oauth' with placement 'oauth2'")
        if self.placement != "oauth2" and self.oauth is not None:
            raise Misplaced("is only for placement 'oauth2'", "oauth")
        primary = self.field or DEFAULT_FIELDS.get(self.placement)
        if self.placement == "body_field" and primary in self.body_fields:
            raise Misplaced("is the credential's own field already", "body_fields", primary)
        return self

    def _check_field(self) -> None:
        if self.field is None:
            if self.placement not in DEFAULT_FIELDS:
                raise ValueError(f"needs 'field' with placement '{self.placement}'")
            return
        if self.placement in ("bearer", "basic", "oauth2"):
            raise Misplaced(f"is not for placement '{self.placement}'", "field")
        fault = field_fault(self.placement, self.field)
        if fault is not None:
            raise Misplaced(fault, "field")
