"""From a file to a ``Config``, or to an error that says where to look."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from core.config._lines import line_of
from core.config._paths import config_path
from core.config._types import Config, CredentialEntry, ModelEntry
from core.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_LARGEST = 1_000_000
_TYPE_NAMES = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def load_config(path: str | Path | None = None) -> Config:
    """Read and check a configuration file.

    Args:
        path: the file; None: ``PLAYGROUND_CONFIG``, else the platform's default place,
            where a missing file means an empty configuration.

    Raises:
        ConfigError: the file cannot be read or is not valid; ``where`` is ``file:line``.
    """
    file, named = config_path(path)
    data = _read(file, required=named)
    if data is None:
        return Config()
    text = _decode(file, data)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(file, text, error) from None
    except RecursionError:
        raise ConfigError("The file is nested too deeply", where=str(file)) from None
    if not content:
        return Config(path=file)
    return _check(file, text, content)


def _read(file: Path, *, required: bool) -> bytes | None:
    try:
        with file.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except FileNotFoundError:
        if not required:
            return None
        raise ConfigError(
            "There is no such configuration file",
            where=str(file),
            hint="Check --config and PLAYGROUND_CONFIG.",
        ) from None
    except IsADirectoryError:
        raise ConfigError(
            "The configuration file is a directory",
            where=str(file),
            hint="Name the TOML file in it.",
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a valid path"
        raise ConfigError(
            f"The configuration file cannot be read: {reason}", where=repr(str(file))[1:-1]
        ) from None
    if len(data) > _LARGEST:
        raise ConfigError(
            "The configuration file is larger than 1 MB",
            where=str(file),
            hint="It is hardly a configuration: check the path.",
        )
    return data


def _decode(file: Path, data: bytes) -> str:
    damaged = data.find(b"\0")
    if damaged >= 0:
        raise ConfigError(
            "The configuration file holds NUL bytes: it is damaged or no text",
            where=_place(file, data.count(b"\n", 0, damaged) + 1),
            hint="Restore it from a copy, or remove it to start with an empty configuration.",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            "The configuration file is not UTF-8",
            where=_place(file, data.count(b"\n", 0, error.start) + 1),
            hint="Save it as UTF-8.",
        ) from None


def _syntax(file: Path, text: str, error: tomllib.TOMLDecodeError) -> ConfigError:
    # The parser gives its position in words only, and none at the end of the text.
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error))
    what, line = (found[1], found[2]) if found else (str(error), None)
    return ConfigError(
        f"This is not valid TOML: {what}",
        where=_place(file, int(line) if line else text.count("\n") + 1),
        hint="Text stands in quotes; a table begins with [models.NAME] or [credentials.NAME].",
    )


def _check(file: Path, text: str, content: dict[str, Any]) -> Config:
    from pydantic import ValidationError

    from core.config._schema import File

    try:
        valid = File.model_validate(content)
    except ValidationError as error:
        raise _invalid(file, text, error) from None
    return Config(
        models=MappingProxyType(
            {
                name: ModelEntry(
                    name=name,
                    provider=entry.provider,
                    base_url=entry.base_url,
                    model=entry.model,
                    credential=entry.credential,
                )
                for name, entry in valid.models.items()
            }
        ),
        credentials=MappingProxyType(
            {
                name: CredentialEntry(
                    name=name,
                    placement=entry.placement,
                    field=entry.field,
                    hosts=tuple(entry.hosts),
                    username=entry.username,
                    tools=None if entry.tools is None else tuple(entry.tools),
                    expires_us=entry.expires,
                    body_fields=tuple(entry.body_fields.items()),
                    oauth=None if entry.oauth is None else entry.oauth.entry(),
                )
                for name, entry in valid.credentials.items()
            }
        ),
        keys=valid.keys.entry(),
        path=file,
    )


def _invalid(file: Path, text: str, error: ValidationError) -> ConfigError:
    """Return the first problem of the file; a mistyped key before the one it stands for."""
    problems = [
        (line_of(text, path) or 1, path, details)
        for details in error.errors(include_url=False)
        for path in [_path(details)]
    ]
    line, path, details = min(
        problems, key=lambda problem: (problem[2]["type"] == "missing", problem[0])
    )
    what, hint = _explain(path, details)
    if len(problems) > 1:
        hint = f"{hint} ({len(problems) - 1} more after this one.)".lstrip()
    return ConfigError(what, where=_place(file, line), hint=hint)


def _path(details: ErrorDetails) -> tuple[str, ...]:
    # What is missing has no line: its table has. List indexes and "[key]" have none either.
    loc = details["loc"][:-1] if details["type"] == "missing" else details["loc"]
    error = details.get("ctx", {}).get("error")
    loc = (*loc, *getattr(error, "keys", ()))
    return tuple(part for part in loc if isinstance(part, str) and part != "[key]")


def _explain(path: tuple[str, ...], details: ErrorDetails) -> tuple[str, str]:
    from core.config._schema import keys_at

    name = ".".join(path)
    match details["type"]:
        case "extra_forbidden":
            return f"{name} is not a known key", did_you_mean(path[-1], keys_at(path[:-1]))
        case "missing":
            return f"{name} lacks {details['loc'][-1]}", "Add it to this table."
        case "literal_error":
            expected = details["ctx"]["expected"]
            options = re.findall(r"'([^']*)'", expected)
            return f"{name} must be {expected}", did_you_mean(str(details["input"]), options)
        case "value_error":
            return f"{name} {details['ctx']['error']}", ""
        case kind:
            wanted = _TYPE_NAMES.get(kind)
            return (f"{name} must be {wanted}" if wanted else f"{name}: {details['msg']}"), ""


def _place(file: Path, line: int) -> str:
    return f"{file}:{line}"
