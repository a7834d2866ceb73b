"""Reading JSON that somebody else wrote."""

from __future__ import annotations

import json
from typing import Any

from core.errors import ProviderError
from core.model.words import FailureClass


def parse_object(text: str | bytes, *, what: str) -> dict[str, Any]:
    """Return the JSON object in ``text``.

    Args:
        text: the JSON; bytes are UTF-8, anything that is not becomes U+FFFD.
        what: what the text is, for the message.

    Raises:
        ProviderError: class ``malformed``: no JSON, too deep, or no object.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ProviderError(f"{what} is not JSON", failure_class=FailureClass.MALFORMED) from None
    if not isinstance(value, dict):
        raise ProviderError(f"{what} is no JSON object", failure_class=FailureClass.MALFORMED)
    return value


def is_object(text: str) -> bool:
    """Tell whether ``text`` is one complete JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
