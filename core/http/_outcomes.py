"""How a call can end: the one table of actions, messages, classes and codes.

Nothing else in this package writes a row's message or an error's text. Literals
never hold a URL, a header, a secret or text of the transport.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from core.errors import (
    HttpError,
    OAuthFailed,
    RequestCancelled,
    RequestRefused,
    RequestTimeout,
    TransportFailed,
)
from core.http._seam import Fault
from core.model import AuditAction


class _Kind(Enum):
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED_UNSENT = "cancelled before send"
    CANCELLED_SENT = "cancelled in flight"
    NO_TOKEN = "the token endpoint answered without one"  # noqa: S105 - a kind's name
    FOREIGN = "somebody else's exception, raised as it is"


@dataclass(frozen=True, slots=True)
class _Line:
    kind: _Kind
    action: AuditAction
    code: str
    message: str | None
    hint: str = ""


def _refused(code: str, why: str, hint: str = "") -> _Line:
    message = f"Refused before any secret was read: {why}"
    return _Line(_Kind.REFUSED, AuditAction.HTTP_CALL, code, message, hint)


def _failed(code: str, message: str, hint: str = "") -> _Line:
    return _Line(_Kind.FAILED, AuditAction.HTTP_CALL, code, message, hint)


def _timeout(code: str, message: str) -> _Line:
    return _Line(_Kind.TIMEOUT, AuditAction.HTTP_CALL, code, message)


def _foreign(code: str, message: str) -> _Line:
    return _Line(_Kind.FOREIGN, AuditAction.HTTP_CALL, code, message)


def _token(code: str, message: str) -> _Line:
    return _Line(_Kind.NO_TOKEN, AuditAction.HTTP_CALL, code, message)


def _unsent(code: str, message: str) -> _Line:
    action = AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND
    return _Line(_Kind.CANCELLED_UNSENT, action, code, message)


def _stopped(action: AuditAction, code: str, message: str) -> _Line:
    return _Line(_Kind.CANCELLED_SENT, action, code, message)


_EXPOSED = AuditAction.HTTP_CALL_CANCELLED
_HARMLESS = AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL


class Ending(Enum):
    """One way a call ends. ``code`` is stable: programs match on it."""

    COMPLETED = _Line(_Kind.DONE, AuditAction.HTTP_CALL, "completed", None)

    URL_INVALID = _refused(
        "url_invalid",
        "the URL is malformed",
        "Use an absolute https URL in ASCII, without user, password or backslash.",
    )
    SCHEME_NOT_ALLOWED = _refused(
        "scheme_not_allowed",
        "the scheme is not allowed",
        "Use https; http needs an allow entry that names the host literally.",
    )
    HOST_NOT_ALLOWED = _refused(
        "host_not_allowed", "the host is not on the allow list", "Add the host to the allow list."
    )
    CREDENTIAL_HOST = _refused(
        "credential_host_not_allowed",
        "the credential is not bound to this host",
        "Add the host to the credential's hosts.",
    )
    CREDENTIAL_TOOL = _refused(
        "credential_tool_not_allowed",
        "the credential is not for this tool",
        "Add the tool to the credential's tools.",
    )
    ADDRESS_NOT_ALLOWED = _refused(
        "address_not_allowed",
        "the host's address is in a refused range",
        "A private address needs an allow entry that names the host literally.",
    )
    HOST_UNRESOLVED = _refused("host_unresolved", "the host has no address", "Check its spelling.")
    METHOD_INVALID = _refused("method_invalid", "the method is not allowed")
    HEADER_INVALID = _refused(
        "header_invalid",
        "a header is malformed",
        "Names are tokens, values are printable ASCII without line breaks.",
    )
    HEADER_RESERVED = _refused(
        "header_reserved", "a header is not the caller's", "The client sets this header itself."
    )
    CREDENTIAL_CONFLICT = _refused(
        "credential_conflict",
        "the request already holds the field that the credential goes into",
        "Drop that field, or use a client without a credential.",
    )
    BODY_UNFIT = _refused(
        "body_unfit",
        "the credential goes into the body, which is neither a JSON object nor a form",
        "Send a JSON object or a form, with its content type.",
    )

    SECRET_UNAVAILABLE = _foreign(
        "secret_unavailable", "The secret was not available; nothing was sent"
    )
    TOKEN_UNAVAILABLE = _foreign(
        "token_unavailable", "No access token could be had; nothing was sent"
    )
    AUDIT_UNAVAILABLE = _foreign(
        "audit_unavailable", "The audit log took no rows; nothing was sent"
    )
    TRANSPORT_UNUSABLE = _foreign(
        "transport_unusable", "The transport could not start; nothing was sent"
    )
    UNEXPECTED_ERROR = _foreign("unexpected_error", "The call was stopped by an unexpected error")

    TIMEOUT_TOTAL = _timeout("timeout_total", "The call took longer than its total bound")
    TIMEOUT_LOOKUP = _timeout("timeout_lookup", "The host's addresses were not found in time")
    TIMEOUT_CONNECT = _timeout("timeout_connect", "The connection was not made in time")
    TIMEOUT_FIRST_BYTE = _timeout("timeout_first_byte", "The answer did not begin in time")
    TIMEOUT_SILENCE = _timeout("timeout_silence", "The answer fell silent for longer than allowed")

    CONNECT_FAILED = _failed("connect_failed", "The connection could not be made")
    TLS_FAILED = _failed("tls_failed", "The TLS handshake failed")
    CERTIFICATE_INVALID = _failed(
        "certificate_invalid", "The server's certificate was not accepted"
    )
    CONNECTION_LOST = _failed(
        "connection_lost", "The connection ended before the answer was complete"
    )
    PROTOCOL_ERROR = _failed("protocol_error", "The server's answer was not valid HTTP")
    PIN_VIOLATED = _failed(
        "pin_violated", "The transport tried to leave the vetted addresses and was stopped"
    )
    TRANSPORT_TIMEOUT = _failed("transport_timeout", "The transport's own bound ran out")
    TRANSPORT_FAILED = _failed("transport_failed", "The transport failed")
    RESPONSE_TOO_LARGE = _failed(
        "response_too_large",
        "The answer was larger than allowed",
        "Read it as a stream, or raise the bound.",
    )

    TOKEN_REFUSED = _token("oauth_refused", "The token endpoint refused the grant")
    TOKEN_ANSWER_MALFORMED = _token(
        "oauth_answer_malformed", "The token endpoint's answer is not valid JSON"
    )
    TOKEN_MISSING = _token("oauth_no_token", "The token endpoint's answer holds no usable token")

    CANCELLED_BEFORE_SEND = _unsent(
        "cancelled_before_send", "Cancelled before anything was sent; no secret had been read"
    )
    CANCELLED_AFTER_READ = _unsent(
        "cancelled_before_send", "Cancelled before anything was sent; a secret had been read"
    )
    CANCELLED_IN_FLIGHT = _stopped(
        _EXPOSED,
        "cancelled_in_flight",
        "Cancelled in flight, after the credential had been handed over: treat it as exposed",
    )
    CANCELLED_NO_CREDENTIAL = _stopped(
        _HARMLESS, "cancelled_in_flight", "Cancelled in flight; the call carried no credential"
    )
    CLOSED_IN_FLIGHT = _stopped(
        _EXPOSED,
        "closed_early",
        "Closed by its reader before the end, after the credential had been handed over: "
        "treat it as exposed",
    )
    CLOSED_NO_CREDENTIAL = _stopped(
        _HARMLESS,
        "closed_early",
        "Closed by its reader before the end; the call carried no credential",
    )

    @property
    def action(self) -> AuditAction:
        """The row's action."""
        return self.value.action

    @property
    def success(self) -> bool:
        """The row's ``success``: the answer is whole, whatever its status."""
        return self.value.kind is _Kind.DONE

    @property
    def message(self) -> str | None:
        """The row's message."""
        return self.value.message

    @property
    def code(self) -> str:
        """The string that programs match on."""
        return self.value.code

    @property
    def unasked(self) -> bool:
        """Whether it ended although nobody stopped it, and not whole."""
        return self.value.kind in (_Kind.FAILED, _Kind.TIMEOUT)

    @property
    def exposed(self) -> bool:
        """Whether the credential was handed over and the call then stopped."""
        return self.action is _EXPOSED

    def error(self, *, where: str = "", number: int = 0) -> HttpError:
        """Return what to raise for this ending.

        Args:
            where: the canonical host, if it may be shown.
            number: the transport's own error number.
        """
        line = self.value
        text = line.message or line.code
        match line.kind:
            case _Kind.REFUSED:
                return RequestRefused(text, code=line.code, where=where, hint=line.hint)
            case _Kind.TIMEOUT:
                return RequestTimeout(text, code=line.code)
            case _Kind.CANCELLED_UNSENT | _Kind.CANCELLED_SENT:
                unsent = line.kind is _Kind.CANCELLED_UNSENT
                return RequestCancelled(text, code=line.code, before_send=unsent)
            case _Kind.NO_TOKEN:
                return OAuthFailed(text, code=line.code)
            case _:
                if number:
                    text = f"{text} (error {number})"
                return TransportFailed(text, code=line.code, number=number, hint=line.hint)

    @classmethod
    def of_refusal(cls, error: RequestRefused) -> Ending:
        """Return the ending that ``error`` was made from."""
        return _BY_CODE.get(error.code, cls.UNEXPECTED_ERROR)

    @classmethod
    def of_fault(cls, fault: Fault) -> Ending:
        """Return the ending for a transfer that was not whole."""
        return _BY_FAULT[fault]


_BY_CODE = {ending.code: ending for ending in Ending if ending.value.kind is _Kind.REFUSED}
_BY_FAULT = {
    Fault.CONNECT: Ending.CONNECT_FAILED,
    Fault.TLS: Ending.TLS_FAILED,
    Fault.CERTIFICATE: Ending.CERTIFICATE_INVALID,
    Fault.LOST: Ending.CONNECTION_LOST,
    Fault.PROTOCOL: Ending.PROTOCOL_ERROR,
    Fault.PIN: Ending.PIN_VIOLATED,
    Fault.TIMEOUT: Ending.TRANSPORT_TIMEOUT,
    Fault.OTHER: Ending.TRANSPORT_FAILED,
}
