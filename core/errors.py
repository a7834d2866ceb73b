"""Every exception the core raises on purpose, in one family.

Each carries what a person needs: a ``title``, what went wrong, ``where`` and a
``hint``. Messages are fixed literals plus names; they never hold a secret, a
URL's query or text of the transport.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_SILENT = 3
EXIT_CANCELLED = 4
EXIT_AUDIT_BROKEN = 5
EXIT_WAITING = 6
EXIT_RETRY = 75
EXIT_INTERRUPTED = 130


class StepbrakeError(Exception):
    """Base of the family.

    Args:
        what: one sentence that says what went wrong, without the full stop.
        where: a file, a field, a run: the place to look at.
        hint: what to do about it: whole sentences.
    """

    title: ClassVar[str] = "Error"
    exit_code: ClassVar[int] = EXIT_FAILED

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint


class UsageError(StepbrakeError):
    """The caller asked for something that cannot be done as asked."""

    title = "Bad request"
    exit_code = EXIT_USAGE


class ConfigError(UsageError):
    """The configuration file or the environment holds something invalid."""

    title = "Configuration error"


class UnknownRun(UsageError):
    """No run has this id."""

    title = "Unknown run"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            "There is no such run", where=run_id, hint="`playground runs list` lists them."
        )


class StoreError(StepbrakeError):
    """The store cannot be used at all: no database, wrong version, unwritable."""

    title = "Store error"
    exit_code = EXIT_USAGE


class StoreReadOnly(StoreError):
    """A database of a later version: it is open for reading only."""

    title = "Database from a later version"


class StoreUnavailable(StepbrakeError):
    """The store does not take writes now; the same call may succeed later."""

    title = "Store unavailable"
    exit_code = EXIT_RETRY


class AuditUnavailable(StoreUnavailable):
    """No audit row can be written, so nothing is sent."""

    title = "Audit unavailable"


class SecretUnavailable(StepbrakeError):
    """A secret is missing, locked or may not be used here.

    Attributes:
        code: a stable string that programs match on: ``secret_missing``,
            ``secret_expired``, ``secret_not_for_host``, ``secret_locked`` (its key cannot be
            had), ``secret_damaged``; ``secret_unavailable`` if it is none of these.
    """

    title = "Secret unavailable"
    exit_code = EXIT_USAGE

    def __init__(
        self, what: str, *, code: str = "secret_unavailable", where: str = "", hint: str = ""
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.code = code


class FilterError(UsageError):
    """A filter query does not parse.

    Attributes:
        position: offset of the first character that is wrong.
    """

    title = "Bad filter"

    def __init__(self, what: str, *, position: int, hint: str = "") -> None:
        super().__init__(what, where=f"column {position + 1}", hint=hint)
        self.position = position


class ProviderError(StepbrakeError):
    """A model call failed.

    Attributes:
        failure_class: a ``core.model.FailureClass`` value, as text.
        retry_after: seconds the server asked to wait, or None.
    """

    title = "Model call failed"

    def __init__(
        self,
        what: str,
        *,
        failure_class: str,
        retry_after: float | None = None,
        where: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.failure_class = failure_class
        self.retry_after = retry_after


class HttpError(StepbrakeError):
    """Base of what the HTTP client raises.

    Attributes:
        code: a stable string, e.g. ``host_not_allowed``; programs match on it.
    """

    title = "HTTP call failed"

    def __init__(self, what: str, *, code: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.code = code


class RequestRefused(HttpError):
    """A gate refused the call before anything was sent."""

    title = "Request refused"


class TransportFailed(HttpError):
    """The transfer began and did not complete.

    Attributes:
        number: the transport's own error number (libcurl's), or 0.
    """

    title = "Transport failed"

    def __init__(self, what: str, *, code: str, number: int = 0, hint: str = "") -> None:
        super().__init__(what, code=code, hint=hint)
        self.number = number


class RequestTimeout(HttpError):
    """One of our own bounds (total, connect, first byte, silence) ran out."""

    title = "Request timed out"


class RequestCancelled(HttpError):
    """Somebody asked for the call to stop. A decision, not a fault.

    Attributes:
        before_send: True if nothing had been handed to the transport.
    """

    title = "Request cancelled"

    def __init__(self, what: str, *, code: str, before_send: bool) -> None:
        super().__init__(what, code=code)
        self.before_send = before_send


class OAuthFailed(HttpError):
    """The token leg failed; the call itself was not made.

    Attributes:
        status: the token endpoint's HTTP status, 0 if there was no answer.
        error: its ``error`` field if that is one of the known ones, or None.
    """

    title = "OAuth token request failed"

    def __init__(
        self, what: str, *, code: str, status: int = 0, error: str | None = None, where: str = ""
    ) -> None:
        super().__init__(what, code=code, where=where)
        self.status = status
        self.error = error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint for a name that is not ``known``: the nearest one, else all of them."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, 1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"Valid names: {', '.join(names)}." if names else "There are none."
