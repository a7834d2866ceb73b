from __future__ import annotations

import pytest

from core.cli._follow import exit_code
from core.model import FailureClass, Outcome, StepError, TerminationReason

PROVIDER = TerminationReason.PROVIDER_FAILED


def error(code: str) -> StepError:
    return StepError(code=code, message="m")


@pytest.mark.parametrize(
    ("outcome", "reason", "why", "code"),
    [
        (Outcome.COMPLETED, TerminationReason.COMPLETED, None, 0),
        (Outcome.COMPLETED, TerminationReason.MAX_ROUNDS, None, 0),
        (Outcome.COMPLETED, TerminationReason.BUDGET_EXHAUSTED, None, 0),
        (Outcome.FAILED, PROVIDER, error(FailureClass.AUTH), 1),
        (Outcome.FAILED, PROVIDER, error(FailureClass.INCOMPLETE_STREAM), 1),
        (Outcome.FAILED, TerminationReason.ABANDONED, error("abandoned"), 1),
        (Outcome.FAILED, PROVIDER, error(FailureClass.TIMEOUT), 3),
        (Outcome.CANCELLED, TerminationReason.CANCELLED, None, 4),
        (Outcome.CANCELLED, None, None, 4),
        (Outcome.AWAITING_APPROVAL, None, None, 6),
        (Outcome.AWAITING_INPUT, None, None, 6),
        (Outcome.GUARDRAIL_APPROVAL_REQUIRED, None, None, 6),
        (Outcome.GUARDRAIL_BLOCKED, None, None, 1),
        (Outcome.SUSPEND_FAILED, None, None, 1),
        (Outcome.REQUEUED, None, None, 75),
        (Outcome.LEASE_LOST, None, None, 75),
        (Outcome.FAILED, TerminationReason.STORE_UNAVAILABLE, error("x"), 75),
    ],
)
def test_exit_code_tells_how_a_run_ended(
    outcome: Outcome, reason: TerminationReason | None, why: StepError | None, code: int
) -> None:
    assert exit_code(outcome, reason, why) == code


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_an_exit_code(outcome: Outcome) -> None:
    assert exit_code(outcome, None, None) in {0, 1, 3, 4, 6, 75}
