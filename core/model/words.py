"""The vocabulary as types. Values are frozen: other programs match on them."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class RunStatus(StrEnum):
    """Where a run is."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    WAITING_FOR_INPUT = "waiting_for_input"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """True for a status that never changes again."""
        return self in _TERMINAL


_TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})


class TerminationReason(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    MAX_ROUNDS = "max_rounds"
    BUDGET_EXHAUSTED = "budget_exhausted"
    CONTEXT_OVERFLOW = "context_overflow"
    POLICY_DENIED = "policy_denied"
    APPROVAL_DENIED = "approval_denied"
    PROVIDER_FAILED = "provider_failed"
    STORE_UNAVAILABLE = "store_unavailable"
    CANCELLED = "cancelled"
    RETRIES_EXHAUSTED = "retries_exhausted"
    NOT_RETRYABLE = "not_retryable"
    ABANDONED = "abandoned"


class Outcome(StrEnum):
    """How a segment ended, for whoever drove it. Match with a default arm: more may come."""

    COMPLETED = "completed"
    AWAITING_APPROVAL = "awaiting_approval"
    AWAITING_INPUT = "awaiting_input"
    SUSPEND_FAILED = "suspend_failed"
    GUARDRAIL_BLOCKED = "guardrail_blocked"
    GUARDRAIL_APPROVAL_REQUIRED = "guardrail_approval_required"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REQUEUED = "requeued"
    LEASE_LOST = "lease_lost"


class StepOutcome(StrEnum):
    """How a step ended."""

    OK = "ok"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class CancelLevel(IntEnum):
    """How hard a run is stopped. A level is only ever raised."""

    BOUNDARY = 1
    ABORT = 2


class Effect(StrEnum):
    """What running a tool twice would do."""

    PURE = "pure"
    IDEMPOTENT = "idempotent"
    UNSAFE = "unsafe"


class FailureClass(StrEnum):
    """Why a model call failed."""

    CONNECTION = "connection"
    TIMEOUT = "timeout"
    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    INCOMPLETE_STREAM = "incomplete_stream"
    MALFORMED = "malformed"
    AUTH = "auth"
    CLIENT_ERROR = "client_error"
    CONFIGURATION = "configuration"
    UNKNOWN = "unknown"

    @property
    def retryable(self) -> bool:
        """True if the same call may succeed later."""
        return self in _RETRYABLE


_RETRYABLE = frozenset(
    {
        FailureClass.CONNECTION,
        FailureClass.TIMEOUT,
        FailureClass.RATE_LIMIT,
        FailureClass.SERVER_ERROR,
        FailureClass.INCOMPLETE_STREAM,
    }
)


class Badge(StrEnum):
    """How an audit action is shown."""

    NEUTRAL = "neutral"
    SUCCESS = "success"
    INFO = "info"
    WARNING = "warning"
    DANGER = "danger"


class AuditAction(StrEnum):
    """What an audit row says happened. One meaning each; a new one needs a decision record."""

    HTTP_CALL = "http_call"
    HTTP_CALL_CANCELLED = "http_call_cancelled"
    HTTP_CALL_CANCELLED_BEFORE_SEND = "http_call_cancelled_before_send"
    HTTP_CALL_CANCELLED_NO_CREDENTIAL = "http_call_cancelled_no_credential"
    HTTP_CALL_INTERRUPTED = "http_call_interrupted"
    OAUTH_TOKEN_REQUEST = "oauth_token_request"  # noqa: S105 - an action's name
    OAUTH_REFRESH_FAILED = "oauth_refresh_failed"
    OAUTH_FALLBACK_CLIENT_CREDENTIALS = "oauth_fallback_client_credentials"
    OAUTH_REFRESH_STORE_FAILED = "oauth_refresh_store_failed"
    SECRET_CREATED = "secret_created"  # noqa: S105 - an action's name
    SECRET_READ = "secret_read"  # noqa: S105 - an action's name
    SECRET_UPDATED = "secret_updated"  # noqa: S105 - an action's name
    SECRET_ROTATED = "secret_rotated"  # noqa: S105 - an action's name
    SECRET_DELETED = "secret_deleted"  # noqa: S105 - an action's name
    ACCESS_DENIED = "access_denied"
    RUN_CANCEL_REQUESTED = "run_cancel_requested"
    APPROVAL_GRANTED = "approval_granted"
    APPROVAL_REFUSED = "approval_refused"
    INPUT_SUBMITTED = "input_submitted"
    MASTER_KEY_ROTATED = "master_key_rotated"
    AUDIT_CHECKPOINT = "audit_checkpoint"
    AUDIT_CHECKPOINT_RESET = "audit_checkpoint_reset"
    AUDIT_EXPORTED = "audit_exported"
    AUDIT_OUTAGE = "audit_outage"

    @property
    def badge(self) -> Badge:
        """Return how this action is shown."""
        return _BADGES.get(self, Badge.NEUTRAL)


_BADGES = {
    AuditAction.HTTP_CALL_CANCELLED: Badge.WARNING,
    AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND: Badge.INFO,
    AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL: Badge.INFO,
    AuditAction.HTTP_CALL_INTERRUPTED: Badge.WARNING,
    AuditAction.SECRET_CREATED: Badge.SUCCESS,
    AuditAction.SECRET_READ: Badge.INFO,
    AuditAction.SECRET_UPDATED: Badge.WARNING,
    AuditAction.SECRET_ROTATED: Badge.INFO,
    AuditAction.SECRET_DELETED: Badge.DANGER,
    AuditAction.ACCESS_DENIED: Badge.DANGER,
    AuditAction.RUN_CANCEL_REQUESTED: Badge.INFO,
    AuditAction.APPROVAL_GRANTED: Badge.INFO,
    AuditAction.APPROVAL_REFUSED: Badge.INFO,
    AuditAction.INPUT_SUBMITTED: Badge.INFO,
    AuditAction.AUDIT_CHECKPOINT_RESET: Badge.DANGER,
    AuditAction.AUDIT_OUTAGE: Badge.DANGER,
}
