"""Failure classes: what an answer, an error chunk or a transport fault means for a model call."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC
from typing import Any

from core.errors import (
    HttpError,
    OAuthFailed,
    ProviderError,
    RequestCancelled,
    RequestRefused,
    RequestTimeout,
    SecretUnavailable,
    TransportFailed,
)
from core.model.words import FailureClass

MAX_MESSAGE = 300

Mask = Callable[[str], str]

# Words that servers put into an error's ``code`` or ``type``, most telling first.
_WORDS = (
    ("insufficient_quota", FailureClass.CLIENT_ERROR),
    ("rate_limit", FailureClass.RATE_LIMIT),
    ("too_many_requests", FailureClass.RATE_LIMIT),
    ("authentication", FailureClass.AUTH),
    ("invalid_api_key", FailureClass.AUTH),
    ("permission", FailureClass.AUTH),
    ("timeout", FailureClass.TIMEOUT),
    ("overloaded", FailureClass.SERVER_ERROR),
    ("server_error", FailureClass.SERVER_ERROR),
    ("internal", FailureClass.SERVER_ERROR),
    ("unavailable", FailureClass.SERVER_ERROR),
    ("invalid_request", FailureClass.CLIENT_ERROR),
    ("not_found", FailureClass.CLIENT_ERROR),
    ("context_length", FailureClass.CLIENT_ERROR),
)

# The HTTP client's codes whose class their exception's type does not say.
_CLASS_OF_CODE = {
    "certificate_invalid": FailureClass.CONFIGURATION,
    "host_unresolved": FailureClass.CONNECTION,
    "response_too_large": FailureClass.MALFORMED,
    "transport_timeout": FailureClass.TIMEOUT,
}
_UNREACHED = frozenset(
    {"certificate_invalid", "connect_failed", "timeout_connect", "timeout_lookup", "tls_failed"}
)

_HINTS = {
    FailureClass.AUTH: "Check the credential of this model entry.",
    FailureClass.CONFIGURATION: "Check base_url of this model entry.",
}


def answered(
    status: int,
    body: bytes,
    headers: Iterable[tuple[str, str]] = (),
    *,
    now_us: int = 0,
    mask: Mask = str,
) -> ProviderError:
    """Return the failure that an HTTP answer other than 2xx means.

    Args:
        status: the HTTP status.
        body: the answer's body, or its beginning.
        headers: the answer's headers, for ``Retry-After``.
        now_us: UTC microseconds since the epoch, for a ``Retry-After`` that is a date.
        mask: takes known secrets out of the server's words.
    """
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        found = body.decode("utf-8", "replace")
    failure_class = _class_of_status(status, _words(found))
    hint = _HINTS.get(failure_class, "")
    if status == 404:
        hint = "Check model and base_url of this model entry."
    return ProviderError(
        _sentence(f"The model server answered {status}", found, mask),
        failure_class=failure_class,
        retry_after=retry_after(headers, now_us=now_us),
        hint=hint,
    )


def reported(found: Mapping[str, Any], mask: Mask = str) -> ProviderError | None:
    """Return the failure that a JSON answer or chunk reports, or None if it reports none.

    Servers that have begun with 200 have only this way to say it: an ``error`` member, an
    object that calls itself an error, or, from Groq, ``x_groq.error``.
    """
    groq = found.get("x_groq")
    error = found.get("error") or (groq.get("error") if isinstance(groq, Mapping) else None)
    if not error and "error" not in (found.get("object"), found.get("type")):
        return None
    return _reported(found, mask)


def announced(data: str, mask: Mask = str) -> ProviderError:
    """Return the failure that a stream's event of type ``error`` means.

    Args:
        data: the event's data: an error in JSON, with or without a frame, or plain words.
        mask: takes known secrets out of the server's words.
    """
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError):
        found = data
    failure = reported(found, mask) if isinstance(found, Mapping) else None
    return failure or _reported({"error": found}, mask)


def unsent(error: HttpError | SecretUnavailable) -> bool:
    """Tell whether ``error`` means that nothing had been handed to the transport."""
    if isinstance(error, RequestCancelled):
        return error.before_send
    if isinstance(error, RequestTimeout):
        return error.code == "timeout_lookup"
    return isinstance(error, RequestRefused | SecretUnavailable | OAuthFailed)


def unreached(error: HttpError | SecretUnavailable) -> bool:
    """Tell whether ``error`` means that the server cannot have read the request."""
    return isinstance(error, HttpError) and error.code in _UNREACHED


def transported(error: HttpError | SecretUnavailable) -> ProviderError:
    """Return the failure that the HTTP client's ``error`` means."""
    failure_class = _class_of_fault(error)
    return ProviderError(
        error.what,
        failure_class=failure_class,
        where=error.where,
        hint=error.hint or _HINTS.get(failure_class, ""),
    )


def retry_after(headers: Iterable[tuple[str, str]], *, now_us: int) -> float | None:
    """Return the seconds that a server asks to wait, or None if it does not say.

    Source: RFC 9110, section 10.2.3; ``retry-after-ms`` is Azure's.

    Args:
        headers: the answer's headers.
        now_us: UTC microseconds since the epoch, for a date.
    """
    found = {name.lower(): value.strip() for name, value in headers}
    milliseconds = _seconds(found.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = found.get("retry-after", "")
    seconds = _seconds(value)
    if seconds is not None or not value:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now_us / 1_000_000)


def _reported(found: Mapping[str, Any], mask: Mask) -> ProviderError:
    words, code = _words(found), _status_in(found)
    failure_class = _class_of_status(code, words) if code else _class_of_words(words)
    return ProviderError(
        _sentence("The model server reported an error", found, mask),
        failure_class=failure_class,
        hint=_HINTS.get(failure_class, ""),
    )


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _class_of_fault(error: HttpError | SecretUnavailable) -> FailureClass:
    if isinstance(error, HttpError) and error.code in _CLASS_OF_CODE:
        return _CLASS_OF_CODE[error.code]
    match error:
        case TransportFailed():
            return FailureClass.CONNECTION
        case RequestTimeout():
            return FailureClass.TIMEOUT
        case OAuthFailed():
            return FailureClass.AUTH
        case RequestRefused() | SecretUnavailable():
            return FailureClass.CONFIGURATION
        case _:
            return FailureClass.UNKNOWN


def _class_of_status(status: int, words: str) -> FailureClass:
    if status in {401, 403}:
        return FailureClass.AUTH
    if status == 408:
        return FailureClass.TIMEOUT
    if status == 429:
        # An empty account answers 429 as well, and no wait will fill it.
        out_of_credit = "insufficient_quota" in words
        return FailureClass.CLIENT_ERROR if out_of_credit else FailureClass.RATE_LIMIT
    if 300 <= status < 400:
        return FailureClass.CONFIGURATION
    if 400 <= status < 500:
        return FailureClass.CLIENT_ERROR
    return FailureClass.SERVER_ERROR if 500 <= status < 600 else FailureClass.UNKNOWN


def _class_of_words(words: str) -> FailureClass:
    for word, failure_class in _WORDS:
        if word in words:
            return failure_class
    return FailureClass.UNKNOWN


def _error_of(found: Any) -> Any:
    return (found.get("error") or found) if isinstance(found, Mapping) else found


def _words(found: Any) -> str:
    error = _error_of(found)
    if not isinstance(error, Mapping):
        return ""
    return " ".join(str(error.get(key) or "").lower() for key in ("code", "type", "status"))


def _status_in(found: Any) -> int:
    error = _error_of(found)
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, str) and code.isdecimal() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and 300 <= code < 600 else 0


def _sentence(start: str, found: Any, mask: Mask) -> str:
    """Return ``start`` and the server's own words, made harmless and short."""
    from core.text import display, redact

    error = _error_of(found)
    words: list[str] = []
    if isinstance(error, str):
        words.append(error)
    elif isinstance(error, Mapping):
        metadata = error.get("metadata")
        inner = metadata.get("raw") if isinstance(metadata, Mapping) else None
        told = [error.get("message"), error.get("detail"), inner]
        words.extend(item for item in told if isinstance(item, str))
    # Known secrets first of all: once a text is cut or altered, nothing finds them.
    # Only the beginning is shown, so only that is worked on: the body may be megabytes.
    text = " ".join(mask(" ".join(words))[: MAX_MESSAGE * 10].split())
    text = redact(display(text))
    if len(text) > MAX_MESSAGE:
        text = text[: MAX_MESSAGE - 1] + "…"
    return f"{start}: {text}" if text else start
