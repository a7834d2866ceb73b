"""What a token endpoint said (RFC 6749, sections 5.1 and 5.2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeGuard

from core.config import is_header_value
from core.http._outcomes import Ending
from core.vault import Secret

# RFC 6749, sections 4.1.2.1 and 5.2; anything else a server writes is its own text.
_ERRORS = frozenset(
    {
        "access_denied",
        "invalid_client",
        "invalid_grant",
        "invalid_request",
        "invalid_scope",
        "invalid_token",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_grant_type",
    }
)
_LIFETIME_S = 3_600.0


class TokenAnswer:
    """Reads one answer; its token never shows.

    Args:
        renewed: takes a new refresh token, at once: the one before may be worthless now.

    Attributes:
        status: the HTTP status, 0 before there is one.
        error: the server's error if it is a known one, or None.
        access_token: the token, once there is one.
        lifetime_s: seconds that the access token lives.
    """

    def __init__(self, renewed: Callable[[Secret], None] | None = None) -> None:
        self._renewed = renewed
        self.status = 0
        self.error: str | None = None
        self.access_token: Secret | None = None
        self.lifetime_s = _LIFETIME_S

    def judge(self, status: int, body: bytes) -> Ending:
        """Take the whole answer in and return how the call ends."""
        self.status = status
        content = _parse(body)
        if status != 200:
            error = content.get("error") if content is not None else None
            self.error = error if isinstance(error, str) and error in _ERRORS else None
            return Ending.TOKEN_REFUSED
        if content is None:
            return Ending.TOKEN_ANSWER_MALFORMED
        token = content.get("access_token")
        kind = content.get("token_type", "Bearer")
        if not _is_token(token) or not isinstance(kind, str) or kind.lower() != "bearer":
            return Ending.TOKEN_MISSING
        self.access_token = Secret(token)
        lifetime = content.get("expires_in")
        if isinstance(lifetime, (int, float)) and not isinstance(lifetime, bool):
            self.lifetime_s = float(lifetime)
        renewed = content.get("refresh_token")
        if self._renewed is not None and _is_token(renewed):
            self._renewed(Secret(renewed))
        return Ending.COMPLETED

    def __repr__(self) -> str:
        return f"TokenAnswer({self.status}, {self.error!r})"


def _parse(body: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _is_token(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip()) and is_header_value(value)
