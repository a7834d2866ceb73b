"""Secrets that must show up nowhere, and a search that knows how they could be spelled.

The search shares nothing with the code that masks: it decodes whatever looks encoded, and
looks for the ends of a secret too, which a careless cut would leave.
"""

from __future__ import annotations

import base64
import html
import json
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote, unquote_plus

SHAPELESS = "zebra stripes forty-two"
SHAPED = "sk-live-canary0Zq9X7Kd3vTmB5wPfJ"
CANARIES = (SHAPELESS, SHAPED)
_END = 9

_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})|\\+x([0-9a-fA-F]{2})")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_HEX = re.compile(r"[0-9a-fA-F]{12,}")


def spellings(value: str) -> list[str]:
    """Return ``value`` as a server might echo it."""
    return [
        value,
        quote(value, safe=""),
        quote_plus(value).replace("-", "%2d"),
        "".join(f"%{byte:02x}" for byte in value.encode()),
        f"{value[:3]}%{ord(value[3]):02X}{value[4:]}",
        json.dumps(value)[1:-1].replace("e", "\\u0065"),
        *(
            encode(before + value.encode() + b"!").decode()
            for encode in (base64.b64encode, base64.urlsafe_b64encode)
            for before in (b"", b"u:", b"me:", b"user:")
        ),
        value.encode().hex(),
        value.encode().hex().upper(),
    ]


def shows(data: bytes | str) -> str | None:
    """Return what of a canary ``data`` shows, None if it is clean."""
    text = data if isinstance(data, str) else data.decode("latin-1")
    wanted = {end for value in CANARIES for end in (value[:_END], value[-_END:])}
    wanted |= {value[6 : 6 + _END] for value in CANARIES}
    for view in _views(text):
        for end in wanted:
            if end in view:
                return end
    return None


def _views(text: str) -> Iterator[str]:
    yield text
    yield from (unquote(text), unquote_plus(unquote(text)), html.unescape(text))
    yield _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    for run in _BASE64.findall(text):
        sane = run.replace("-", "+").replace("_", "/")
        for skip in range(4):
            part = sane[skip:]
            part = part[: len(part) // 4 * 4]
            yield base64.b64decode(part).decode("latin-1")
    for run in _HEX.findall(text):
        for skip in (0, 1):
            part = run[skip:]
            yield bytes.fromhex(part[: len(part) // 2 * 2]).decode("latin-1")


def shows_below(folder: Path) -> dict[str, str]:
    """Return the files below ``folder`` that show a canary, with what they show."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (end := shows(path.read_bytes())):
            found[str(path.relative_to(folder))] = end
    return found


def told_by(error: BaseException) -> Iterator[str]:
    """Give all that an exception and those behind it tell."""
    yield "".join(traceback.format_exception(error))
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None:
            continue
        yield str(one)
        yield repr(one)
        yield repr(one.args)
        yield repr(vars(one))
        waiting += [one.__cause__, one.__context__]
