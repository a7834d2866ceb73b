from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import FilterError
from core.model import AuditAction
from playground.state import audit_filter

A = AuditAction
CANCELLED = A.HTTP_CALL_CANCELLED


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("", ()),
        ("   ", ()),
        ("action:http_call_cancelled", (CANCELLED,)),
        ("http_call_cancelled", (CANCELLED,)),
        ("action:http_call action:secret_read", (A.HTTP_CALL, A.SECRET_READ)),
        ("action:http_call or secret_read", (A.HTTP_CALL, A.SECRET_READ)),
        ("http_call http_call", (A.HTTP_CALL,)),
    ],
)
def test_a_query_of_action_names_means_any_of_them(
    text: str, actions: tuple[AuditAction, ...]
) -> None:
    assert audit_filter.parse(text) == actions


@pytest.mark.parametrize(
    ("text", "position", "nearest"),
    [
        ("http_call_canceled", 0, "http_call_cancelled"),
        ("action:htp_call", 7, "http_call"),
        ("http_call action:secret_delete", 17, "secret_deleted"),
        ("host:http_call", 0, "http_call"),
        ("-http_call", 0, "http_call"),
        ("action:", 7, None),
    ],
)
def test_anything_else_says_where_it_is_wrong_and_names_the_nearest_action(
    text: str, position: int, nearest: str | None
) -> None:
    with pytest.raises(FilterError) as error:
        audit_filter.parse(text)
    assert error.value.position == position
    named = error.value.hint.removeprefix("nearest: ")
    assert named in {action.value for action in A}
    assert nearest is None or named == nearest


def test_an_endless_term_is_answered_at_once_and_not_quoted_whole() -> None:
    with pytest.raises(FilterError) as error:
        audit_filter.parse("h" * 1_000_000)
    assert len(error.value.what) < 100


@given(st.lists(st.sampled_from(list(A)), unique=True))
@settings(max_examples=30)
def test_what_is_written_reads_back(actions: list[AuditAction]) -> None:
    assert audit_filter.parse(audit_filter.write(actions)) == tuple(actions)


@given(st.text(max_size=40))
@settings(max_examples=60)
def test_any_text_parses_or_says_where_it_does_not(text: str) -> None:
    try:
        audit_filter.parse(text)
    except FilterError as error:
        assert 0 <= error.position <= len(text)
    audit_filter.complete(text)
    audit_filter.unfinished(text)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("action:http_call_canc", "http_call_cancelled"),
        ("http_call or oauth_r", "oauth_refresh_failed"),
        ("cancelled", "http_call_cancelled"),
        ("secret", "secret_created"),
    ],
)
def test_names_are_completed_from_their_start_or_a_word_inside(text: str, first: str) -> None:
    names = audit_filter.complete(text)
    assert names[0] == first
    finished = audit_filter.accept(text, first)
    assert audit_filter.parse(finished)[-1] == A(first)
    assert audit_filter.complete(finished) == ()


@pytest.mark.parametrize("text", ["", "http_call_cancelled", "http_call ", "zzz"])
def test_nothing_is_offered_where_nothing_is_unfinished(text: str) -> None:
    assert audit_filter.complete(text) == ()


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [("act", True), ("action:", True), ("action:sec", True), ("zzz", False), ("zzz ", False)],
)
def test_a_term_that_may_still_become_a_name_is_no_error_yet(text: str, unfinished: bool) -> None:
    assert audit_filter.unfinished(text) is unfinished
