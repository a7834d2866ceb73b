from __future__ import annotations

import pytest

from core.errors import (
    HttpError,
    OAuthFailed,
    RequestRefused,
    RequestTimeout,
    SecretUnavailable,
    TransportFailed,
)
from core.model.words import FailureClass
from core.providers._failures import MAX_MESSAGE, answered, retry_after, transported
from core.providers.openai_chat import StreamDecoder

_NOW_US = 1_800_000_000_000_000  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("status", "failure_class"),
    [
        (301, "configuration"), (308, "configuration"), (400, "client_error"), (401, "auth"),
        (403, "auth"), (404, "client_error"), (408, "timeout"), (413, "client_error"),
        (422, "client_error"), (429, "rate_limit"), (500, "server_error"), (502, "server_error"),
        (504, "server_error"), (529, "server_error"), (600, "unknown"),
    ],
)  # fmt: skip
def test_a_status_has_a_class(status: int, failure_class: str) -> None:
    assert answered(status, b"{}").failure_class == failure_class


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ((), None),
        ((("Retry-After", "3"),), 3.0),
        ((("retry-after", " 0 "),), 0.0),
        ((("Retry-After", "1.5"),), 1.5),
        ((("Retry-After", "Fri, 15 Jan 2027 08:00:30 GMT"),), 30.0),
        ((("Retry-After", "Fri, 15 Jan 2027 08:00:30 -0000"),), 30.0),
        ((("Retry-After", "Fri, 15 Jan 2027 07:00:00 GMT"),), 0.0),
        ((("Retry-After", "2"), ("Retry-After-Ms", "1250")), 1.25),
        ((("Retry-After", "soon"),), None),
        ((("Retry-After", "-3"),), None),
        ((("Retry-After", "nan"),), None),
        ((("Retry-After", "inf"),), None),
        ((("Retry-After", "Mon, 99 Foo 2027 99:99:99 GMT"),), None),
    ],
)
def test_retry_after(headers: tuple[tuple[str, str], ...], seconds: float | None) -> None:
    assert retry_after(headers, now_us=_NOW_US) == seconds
    assert answered(429, b"", headers, now_us=_NOW_US).retry_after == seconds


@pytest.mark.parametrize(
    ("error", "failure_class"),
    [
        (TransportFailed("lost", code="connection_lost"), "connection"),
        (TransportFailed("refused", code="connect_failed"), "connection"),
        (TransportFailed("slow", code="transport_timeout"), "timeout"),
        (TransportFailed("big", code="response_too_large"), "malformed"),
        (TransportFailed("tls", code="certificate_invalid"), "configuration"),
        (RequestTimeout("silent", code="timeout_silence"), "timeout"),
        (RequestRefused("no", code="host_not_allowed"), "configuration"),
        (RequestRefused("no", code="host_unresolved"), "connection"),
        (SecretUnavailable("gone"), "configuration"),
        (OAuthFailed("no token", code="oauth_failed"), "auth"),
        (HttpError("odd", code="odd"), "unknown"),
    ],
)
def test_a_fault_of_the_way_there_has_a_class(
    error: HttpError | SecretUnavailable, failure_class: str
) -> None:
    failure = transported(error)
    assert failure.failure_class == failure_class
    assert failure.what == error.what


def test_the_servers_words_are_harmless_short_and_hold_no_secret() -> None:
    told = "\x1b[2Jkey sk-abcdefghijklmnopqrstuvwxyz012345 \u202e" + "long " * 100_000
    for body in (told.encode(), b'{"error": {"message": "%s"}}' % b"x\\u001b[2J".ljust(400, b"y")):
        what = answered(400, body).what
        assert what.startswith("The model server answered 400: ")
        assert len(what) <= MAX_MESSAGE + 40
        assert what.isprintable()
        assert "abcdefghijklmnop" not in what


@pytest.mark.parametrize(
    ("data", "failure_class", "words"),
    [
        ('{"error": {"type": "overloaded_error", "message": "busy"}}', "server_error", "busy"),
        ('{"type": "error", "error": {"code": 429, "message": "slow"}}', "rate_limit", "slow"),
        ('{"message": "bare", "code": "401"}', "auth", "bare"),
        ("plain words", "unknown", "plain words"),
        ("", "unknown", "reported an error"),
        ("[1]", "unknown", "reported an error"),
    ],
)
def test_an_error_event_is_an_error_whatever_it_holds(
    data: str, failure_class: str, words: str
) -> None:
    decoder = StreamDecoder()
    decoder.feed(f"event: error\ndata: {data}\n\n".encode())
    assert decoder.failure is not None
    assert decoder.failure.failure_class == failure_class
    assert words in decoder.failure.what


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[" * 100_000, b'{"error": null}', b"17"])
def test_a_body_that_says_nothing_is_no_trouble(body: bytes) -> None:
    assert answered(502, body).failure_class == FailureClass.SERVER_ERROR
