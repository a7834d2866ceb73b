"""What each audit action means, in one sentence, and the sign it carries."""

from __future__ import annotations

from core.model import AuditAction, AuditRow, Badge
from playground.state.block import Tone

MEANINGS: dict[AuditAction, str] = {
    AuditAction.HTTP_CALL: "An outbound call that completed, failed or was refused by a gate.",
    AuditAction.HTTP_CALL_CANCELLED: (
        "Stopped in flight after a credential was handed to the transport: "
        "treat the credential as exposed."
    ),
    AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND: (
        "Stopped before anything was handed over; the message says whether a secret had been read."
    ),
    AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL: (
        "Stopped in flight; the call carried no credential."
    ),
    AuditAction.HTTP_CALL_INTERRUPTED: (
        "The process died after the call was allowed to begin: outcome unknown, "
        "treat the credential as exposed."
    ),
    AuditAction.OAUTH_TOKEN_REQUEST: "A token request that completed, failed or was refused.",
    AuditAction.OAUTH_REFRESH_FAILED: "The refresh token was not accepted.",
    AuditAction.OAUTH_FALLBACK_CLIENT_CREDENTIALS: (
        "After a refresh failed, the token was asked for with the client's own credentials."
    ),
    AuditAction.OAUTH_REFRESH_STORE_FAILED: (
        "A new refresh token arrived and could not be stored."
    ),
    AuditAction.SECRET_CREATED: "A secret was stored under a new name.",
    AuditAction.SECRET_READ: "A person or a program read a secret; use in a call is not a read.",
    AuditAction.SECRET_UPDATED: "A secret's value or where it may be used was replaced.",
    AuditAction.SECRET_ROTATED: "A secret was given a new value and keeps its name.",
    AuditAction.SECRET_DELETED: "A secret was deleted.",
    AuditAction.ACCESS_DENIED: "Somebody asked for a secret that is not theirs to use.",
    AuditAction.RUN_CANCEL_REQUESTED: "Somebody asked a run to stop, or to stop harder.",
    AuditAction.APPROVAL_GRANTED: "A person allowed the calls of a turn.",
    AuditAction.APPROVAL_REFUSED: "A person refused the calls of a turn.",
    AuditAction.INPUT_SUBMITTED: "A person answered a run that was waiting for input.",
    AuditAction.MASTER_KEY_ROTATED: "Everything was wrapped anew under another master key.",
    AuditAction.AUDIT_CHECKPOINT: "A signed checkpoint of this log was written.",
    AuditAction.AUDIT_CHECKPOINT_RESET: "The checkpoints of this log were started anew.",
    AuditAction.AUDIT_EXPORTED: "This log was exported.",
    AuditAction.AUDIT_OUTAGE: "This log could not be written for a while; calls were refused.",
}

GLYPHS: dict[Badge, str] = {
    Badge.NEUTRAL: "·",
    Badge.SUCCESS: "+",
    Badge.INFO: "○",
    Badge.WARNING: "▲",
    Badge.DANGER: "◆",
}

TONES: dict[Badge, Tone] = {
    Badge.NEUTRAL: Tone.PLAIN,
    Badge.SUCCESS: Tone.GOOD,
    Badge.INFO: Tone.ACCENT,
    Badge.WARNING: Tone.WARN,
    Badge.DANGER: Tone.BAD,
}

_DECISIONS = frozenset(
    {
        AuditAction.HTTP_CALL_CANCELLED,
        AuditAction.HTTP_CALL_CANCELLED_BEFORE_SEND,
        AuditAction.HTTP_CALL_CANCELLED_NO_CREDENTIAL,
        AuditAction.HTTP_CALL_INTERRUPTED,
    }
)


def went_wrong(row: AuditRow) -> bool:
    """Return whether a row reports a fault; a call that somebody stopped is none."""
    return not row.success and row.action not in _DECISIONS
