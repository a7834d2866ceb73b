"""Secrets in text, recognised by their shape and masked.

Every pattern is linear: possessive or bounded, so that no input makes it slow. A match
ends where no other pattern could begin inside the same word, and every pattern that can
see the mask takes it for the value it stands for: so redacting twice changes nothing.
Where one secret was glued to another a mask may still bring out a shape, hence the
second look at a text that was changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from core.text import _shapes as shapes
from core.text._known import MASK

_MAX_PASSES = 4


@dataclass(frozen=True, slots=True)
class _Rule:
    """A step of redaction, and lower-case texts without which it has nothing to do."""

    needles: tuple[str, ...]
    apply: Callable[[str], str]


def redact(text: str) -> str:
    """Return ``text`` with whatever has the shape of a secret replaced by ``[redacted]``.

    Masked are private keys (PEM), user information and secret parameters of URLs,
    ``Authorization`` and ``Cookie`` headers, values named like a secret
    (``api_key=…``, ``"password": "…"``), and the token formats of common services. What
    surrounds a secret stays. Takes time linear in the text; never raises; redacting a
    redacted text changes nothing.
    """
    for _ in range(_MAX_PASSES):
        masked = _masked(text)
        if masked == text:
            break
        text = masked
    return text


def _masked(text: str) -> str:
    lower = text.lower()
    for rule in _RULES:
        if any(needle in lower for needle in rule.needles):
            text = rule.apply(text)
    return text


def _private_keys(text: str) -> str:
    begins = list(shapes.PEM_BEGIN.finditer(text))
    pieces: list[str] = []
    done = 0
    for index, begin in enumerate(begins):
        limit = begins[index + 1].start() if index + 1 < len(begins) else len(text)
        end = text.find(f"-----END {begin[1]}-----", begin.end(), limit)
        if end < 0:
            body = shapes.PEM_BODY.match(text, begin.end(), limit)
            if body is not None:
                pieces += (text[done : begin.end()], body[1], MASK)
                done = body.end()
        elif end > begin.end():
            pieces += (text[done : begin.end()], MASK)
            done = end
    pieces.append(text[done:])
    return "".join(pieces)


def _split_quotes(value: str) -> tuple[str, str, str]:
    """Return opening quote, content, closing quote (or brackets that close a call)."""
    for quote in ('\\"', '"', "'", "`"):
        if value.startswith(quote):
            inner = value[len(quote) :]
            if inner.endswith(quote):
                return quote, inner[: -len(quote)], quote
            return quote, inner, ""
    inner = value.rstrip(")}")
    return "", inner, value[len(inner) :]


def _value(match: re.Match[str]) -> str:
    """Mask group 2, a value, and keep group 1, what introduces it."""
    opening, inner, closing = _split_quotes(match[2])
    return match[1] + opening + (MASK if inner else "") + closing


def _header(match: re.Match[str]) -> str:
    """Mask a header's value; a scheme such as ``Bearer`` may be seen."""
    opening, inner, closing = _split_quotes(match[2])
    scheme = shapes.SCHEME.match(inner)
    if scheme is None:
        return _value(match)
    end = len(inner)
    if scheme[1] and not opening and (word := shapes.ONE_WORD.match(inner, scheme.end())):
        end = word.end()
    return match[1] + opening + scheme[0] + MASK + inner[end:] + closing


def _basic(match: re.Match[str]) -> str:
    return match[1] + MASK if shapes.is_basic(match[2]) else match[0]


def _substitute(
    pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], str]
) -> Callable[[str], str]:
    def apply(text: str) -> str:
        return pattern.sub(replacement, text)

    return apply


_RULES = (
    _Rule(("private key",), _private_keys),
    _Rule(("://",), _substitute(shapes.USERINFO, MASK)),
    _Rule(shapes.HEADER_NEEDLES, _substitute(shapes.HEADER, _header)),
    _Rule(shapes.NAME_NEEDLES, _substitute(shapes.PAIR, _value)),
    _Rule(("</",), _substitute(shapes.ELEMENT, rf"\1{MASK}")),
    _Rule(("--",), _substitute(shapes.OPTION, _value)),
    _Rule(shapes.QUERY_NEEDLES, _substitute(shapes.QUERY, rf"\1{MASK}")),
    _Rule(("hooks.slack.com/",), _substitute(shapes.WEBHOOK, rf"\1{MASK}")),
    _Rule(("bearer",), _substitute(shapes.BEARER, rf"\1{MASK}")),
    _Rule(("basic",), _substitute(shapes.BASIC, _basic)),
    _Rule(shapes.TOKEN_NEEDLES, _substitute(shapes.TOKEN, MASK)),
)
