"""The demo server that processes share."""

from __future__ import annotations

import os
import re

from core.errors import ConfigError

VARIABLE = "PLAYGROUND_DEMO_URL"
# Loopback only: the demo credential travels there in clear.
_URL = re.compile(r"http://(?:127\.0\.0\.1|localhost|\[::1\]):([1-9][0-9]{0,4})/?")


def url_from_environment() -> str | None:
    """Return the URL in ``PLAYGROUND_DEMO_URL`` without a slash at its end; None if unset.

    Raises:
        ConfigError: it is no http URL of a port on loopback.
    """
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    found = _URL.fullmatch(text)
    if found is None or int(found[1]) > 65_535:
        raise ConfigError(
            "The demo's URL is not usable",
            where=VARIABLE,
            hint="Write http://127.0.0.1:PORT, as `playground demo-server` prints it.",
        )
    return text.rstrip("/")
