from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.text import redact
from tests.cases import cases

CANARY = "c4narY0Value9"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx7c4narY0Value9qL\n"
    "c4narY0Value9\n-----END RSA PRIVATE KEY-----"
)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer c4narY0Value9", "Authorization: Bearer [redacted]"),
        ("authorization: c4narY0Value9\nnext", "authorization: [redacted]\nnext"),
        (
            "-H 'Authorization: Bearer c4narY0Value9' https://x",
            "-H 'Authorization: Bearer [redacted]' https://x",
        ),
        (
            '{"Authorization": "Bearer c4narY0Value9", "a": 1}',
            '{"Authorization": "Bearer [redacted]", "a": 1}',
        ),
        (
            r"{\"Authorization\": \"Bearer c4narY0Value9\", \"a\": 1}",
            r"{\"Authorization\": \"Bearer [redacted]\", \"a\": 1}",
        ),
        ("('authorization', 'Bearer c4narY0Value9')", "('authorization', 'Bearer [redacted]')"),
        ("[(b'x-api-key', b'c4narY0Value9')]", "[(b'x-api-key', b'[redacted]')]"),
        (
            "{Authorization: Bearer c4narY0Value9, Accept: x}",
            "{Authorization: Bearer [redacted], Accept: x}",
        ),
        (
            'Authorization: Digest username="me", response="c4narY0Value9"\nnext',
            "Authorization: Digest [redacted]\nnext",
        ),
        ("Proxy-Authorization: Basic dTpw", "Proxy-Authorization: Basic [redacted]"),
        ('Cookie: a=b; c="c4narY0Value9"; d=e\nnext', "Cookie: [redacted]\nnext"),
        ("set-cookie: sid=c4narY0Value9; Path=/", "set-cookie: [redacted]"),
        ("X-Api-Key: c4narY0Value9", "X-Api-Key: [redacted]"),
        ("sent bearer c4narY0Value9 to x", "sent bearer [redacted] to x"),
        ("Basic dXNlcjpjNG5hclkw ok", "Basic [redacted] ok"),
        ("api_key=c4narY0Value9", "api_key=[redacted]"),
        ("OPENAI_API_KEY=c4narY0Value9 next", "OPENAI_API_KEY=[redacted] next"),
        ("export TOKEN='c4narY0Value9'", "export TOKEN='[redacted]'"),
        ('{"password": "c4nar\\"Y0Value9", "x": 2}', '{"password": "[redacted]", "x": 2}'),
        ('"apiKey":"c4narY0Value9"', '"apiKey":"[redacted]"'),
        ('"client_secret" : "c4narY0Value9"', '"client_secret" : "[redacted]"'),
        (r"{\"token\": \"c4nar\\\"Y0Value9\", \"a\": 1}", r"{\"token\": \"[redacted]\", \"a\": 1}"),
        ("Config(password='c4narY0Value9', n=1)", "Config(password='[redacted]', n=1)"),
        ("Config(token=c4narY0Value9)", "Config(token=[redacted])"),
        ("password=c4narY0,Value9;x&y next", "password=[redacted] next"),
        ("Server=a;Pwd=c4narY0Value9;Database=b", "Server=a;Pwd=[redacted];Database=b"),
        ("password: c4narY0Value9", "password: [redacted]"),
        ("**password**: `c4narY0Value9`", "**password**: `[redacted]`"),
        ("env['API_KEY'] = 'c4narY0Value9'", "env['API_KEY'] = '[redacted]'"),
        ("token => c4narY0Value9", "token => [redacted]"),
        ('password = "c4narY0Value9', 'password = "[redacted]'),
        ("<password>c4narY0Value9</password>", "<password>[redacted]</password>"),
        ("run --password c4narY0Value9 --max-tokens 5", "run --password [redacted] --max-tokens 5"),
        ("run --api-key=c4narY0Value9 x", "run --api-key=[redacted] x"),
        ("https://me:c4narY0Value9@host/p", "https://[redacted]@host/p"),
        ("postgresql://me:c4nar@Y0Value9@host/db", "postgresql://[redacted]@host/db"),
        ("https://me@x.com:c4nar#Y0?Value9@host", "https://[redacted]@host"),
        ("https://me@host:80/x", "https://[redacted]@host:80/x"),
        ("https://c4narY0Value9@github.com/x", "https://[redacted]@github.com/x"),
        ("/p?key=c4narY0Value9&page=2", "/p?key=[redacted]&page=2"),
        ("/p?a=1&access_token=c4narY0Value9#f", "/p?a=1&access_token=[redacted]"),
        ("/b?sv=1&sig=c4narY0Value9%3D&se=2", "/b?sv=1&sig=[redacted]&se=2"),
        ("/b?X-Amz-Signature=c4narY0Value9", "/b?X-Amz-Signature=[redacted]"),
        ("key sk-c4narY0Value9 used", "key [redacted] used"),
        ("sk-proj-c4narY0Value9-abc_def", "[redacted]"),
        ("ghp_c4narY0Value9c4narY0Value9", "[redacted]"),
        ("xoxb-1234-c4narY0Value9", "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE.", "[redacted]."),
        ("AIzaSyc4narY0Value9c4narY0Value9c4narY0", "[redacted]"),
        (f"a {JWT} b", "a [redacted] b"),
        (
            f"key:\n{PEM}\nend",
            "key:\n-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nend",
        ),
        ("hooks.slack.com/services/T0/B0/c4narY0Value9", "hooks.slack.com/services/[redacted]"),
    ],
)
def test_a_secret_is_masked_and_the_rest_stays(text: str, masked: str) -> None:
    assert redact(text) == masked
    assert redact(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "usage: prompt_tokens=12 max_tokens: 5 {'input_tokens': 3, \"output_tokens\": 4}",
        '{"token_count": 3, "tokenizer": "x", "token_type": "bearer"}',
        '{"password": null, "secret": true, "token": ""}',
        '{"secret": {"a": 1}, "token": []}',
        "the bearer of news; Bearer authentication; basic authentication, Basic research",
        "risk-management task-oriented sk-learn desk-top",
        "the secretary: Bob; passwords are secrets",
        "PWD=/root/work OLDPWD=/tmp",
        "https://medium.com/@user and mail me@example.com git@github.com:a/b.git",
        "--max-tokens 5 --token-file x",
        "xoxo-kisses-and-hugs",
        "----------------",
        "漢字 👩\u200d👧 \ud83d \x1b[2J",
    ],
)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_a_private_key_without_its_end_is_masked() -> None:
    cut = "-----BEGIN PRIVATE KEY-----\n" + "MIIc4narY0Value9abc\n" * 3 + "then prose"
    assert redact(cut) == "-----BEGIN PRIVATE KEY-----\n[redacted]\nthen prose"
    inside = '"-----BEGIN PRIVATE KEY-----\\nMIIc4narY0Value9abc\\nMIIc4narY0Value9abc'
    assert redact(inside) == '"-----BEGIN PRIVATE KEY-----\\n[redacted]'


PIECES = st.sampled_from(
    [
        "password", "token", "api_key", "secret", "Authorization", "Cookie", "Bearer ", "Basic ",
        "authorization: ", "pwd", "--", "?key=", "&sig=", "://", "@", "=", ":", ": ", ",", ";", "&",
        " ", "\n", "\t", '"', "'", "`", '\\"', "\\", "[", "]", "{", "}", "(", ")", "<", ">", "</",
        "/", ".", "-", "_", "b", "x", "null", "true", "[redacted]", "[redacted", "redacted]",
        "sk-abcdefgh1", "ghp_aaaaaaaaaaaaaaaa", "AKIAAAAAAAAAAAAAAAAA", "eyJaaaaa.bbbbb.ccc",
        "xoxb-1234567890", "hf_aaaaaaaaaaaaaaaaaaaaaa", "dXNlcjpwYXNz", "123456:AA", "a" * 20,
        "A" * 40, "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "MII" * 8, "\u017f",
        "İ", "hooks.slack.com/services/", "digest ", "%3D", "=>", "==", "a=b", "1" * 70,
    ]
)  # fmt: skip


@settings(max_examples=1500)
@given(st.lists(PIECES, max_size=14).map("".join))
@example("password=a;sk-abcdefgh12345678=b")
@example("AKIAAAAAAAAAAAAAAAAAeyJaaaaa.bbbbb.ccc")
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_goes_through(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@settings(max_examples=300)
@given(
    st.sampled_from(
        [
            "Authorization: Bearer {}", '"password": "{}"', "api_key={}", "https://u:{}@h/",
            "/x?token={}&a=1", "--secret {}", "<token>{}</token>", "'apiKey': '{}'",
        ]
    ),
    st.text("abcXYZ0189!#$%*+-._~|^", min_size=1, max_size=40),
    st.sampled_from(["", " ", "\n", "log: ", "{", "🙂 "]),
    st.sampled_from(["", " tail", "\ntail"]),
)  # fmt: skip
def test_no_value_survives(form: str, secret: str, before: str, after: str) -> None:
    secret = f"Zq9{secret}7Kd"
    masked = redact(before + form.format(secret) + after)
    assert secret not in masked
    assert "Zq9" not in masked
    assert "7Kd" not in masked
    assert masked.startswith(before)
    assert masked.endswith(after)


@pytest.mark.parametrize(
    "unit",
    [
        "a", "-", " ", "sk-", "eyJ", "eyJa.", "password", "password=", "password ", "token:", "--a",
        "--token ", "bearer ", "basic ", "://", "://a@", "@", '"', "\\", '\\"', '"password":"',
        "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nMIIMIIMIIMIIMIIMII\n",
        "-----BEGIN ", "1", "a=b;", "password=,", "&a", "authorization:", "cookie: a=", "?key=",
        "xoxb-a", "A", "AKIA", "x-api-", "password=\\", "cookie:\\", "[", "<token>", "token>",
    ],
)  # fmt: skip
def test_time_is_linear(unit: str) -> None:
    head = "password token bearer basic cookie x-api-key :// -- key= eyj sk- xox akia :aa "
    text = head + unit * (200_000 // len(unit))
    started = time.process_time()
    redact(text)
    assert time.process_time() - started < 2


def test_the_hostile_corpus_goes_through() -> None:
    hostile = json.loads(cases("text/hostile-terminal.json").read_text("utf-8"))["cases"]
    naughty = json.loads(cases("text/naughty-strings.json").read_text("utf-8"))
    for text in [text for text, _ in hostile] + naughty:
        assert redact(redact(text)) == redact(text)
