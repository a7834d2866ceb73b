"""The shape of the file, for pydantic. Imported only when there is something to check."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, Field

from core.config._credentials import Credential
from core.config._fields import SecretName, Table, not_reserved, url_scheme
from core.config._keys import Keys

_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}")


def _model_name(text: str) -> str:
    if not _MODEL_NAME.fullmatch(text):
        raise ValueError("is no valid name (letters, digits and . _ : / -, at most 64)")
    return not_reserved(text)


def _base_url(text: str) -> str:
    if url_scheme(text) is None or "?" in text:
        raise ValueError("must be a URL like https://host/v1, without user, query or fragment")
    return text.rstrip("/")


class Model(Table):
    """``[models.NAME]``."""

    provider: Literal["openai-chat"]
    base_url: Annotated[str, AfterValidator(_base_url)]
    model: Annotated[str, Field(min_length=1, max_length=200)]
    credential: SecretName | None = None


class File(Table):
    """The whole file."""

    models: dict[Annotated[str, AfterValidator(_model_name)], Model] = Field(default_factory=dict)
    credentials: dict[SecretName, Credential] = Field(default_factory=dict)
    keys: Keys = Field(default_factory=Keys)


def keys_at(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys that the table at ``path`` may have."""
    table: type[BaseModel] = File
    named = False  # whether the next part of the path is a table's own name
    for part in path:
        if named:
            named = False
            continue
        annotation = table.model_fields[part].annotation
        named = getattr(annotation, "__origin__", None) is dict
        table = _table_in(annotation)
    return tuple(table.model_fields)


def _table_in(annotation: Any) -> type[BaseModel]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(_table_in(part) for part in reversed(get_args(annotation)) if _holds_table(part))


def _holds_table(annotation: Any) -> bool:
    if isinstance(annotation, type) and not get_args(annotation):
        return issubclass(annotation, BaseModel)
    return any(map(_holds_table, get_args(annotation)))
