"""Foreign text and secrets against everything in ``core.text`` that may print them."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.text import clip, decode, display, line, redact
from tests.cases import cases

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)


def corpus() -> list[str]:
    hostile: list[list[str]]
    hostile = json.loads(cases("text/hostile-terminal.json").read_text("utf-8"))["cases"]
    naughty: list[str] = json.loads(cases("text/naughty-strings.json").read_text("utf-8"))
    return [text for text, _ in hostile] + naughty


def test_the_corpus_through_every_way_out() -> None:
    for text in corpus():
        for shown in (
            display(text),
            line(text),
            line(text, 40),
            display(redact(text)),
            redact(display(text)),
            display(clip(text, 50).text),
            display(decode(text.encode("utf-8", "surrogatepass"))),
        ):
            assert not FORBIDDEN.search(shown), ascii(text[:80])
            shown.encode("utf-8")


@settings(max_examples=200)
@given(st.binary(max_size=80))
def test_no_bytes_reach_a_terminal_as_controls(data: bytes) -> None:
    shown = display(decode(data)).encode("utf-8")
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", shown)


def test_a_terminal_gets_nothing_but_text() -> None:
    # A real process writes the whole corpus: what its stdout carries is what a terminal would.
    code = (
        "import json, sys; from core.text import display\n"
        "for text in json.load(sys.stdin): sys.stdout.write(display(text) + '\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        input=json.dumps(corpus()).encode(),
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", done.stdout)
    assert done.stderr == b""


SECRET = "Zq9-canary-7Kd2xW"
BASIC = base64.b64encode(f"user:{SECRET}".encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        f"GET /v1?api_key={SECRET}&x=1 HTTP/1.1\r\nAuthorization: Bearer {SECRET}\r\n\r\n",
        f"curl -H 'Authorization: Bearer {SECRET}' -d '{{\"password\": \"{SECRET}\"}}' https://x",
        json.dumps({"headers": {"authorization": f"Bearer {SECRET}", "cookie": f"s={SECRET}"}}),
        json.dumps(json.dumps({"request": {"api_key": SECRET, "n": "ok"}})),
        json.dumps({"error": f"Incorrect API key provided: sk-{SECRET}. Check your key."}),
        repr({"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET}),
        repr([("authorization", f"Bearer {SECRET}"), ("x-api-key", SECRET)]),
        repr({"password": SECRET, "client_secret": SECRET.encode()}),
        f"Authorization: Basic {BASIC}",
        f"failed with Basic {BASIC}",
        f"OPENAI_API_KEY={SECRET}\nexport GITHUB_TOKEN='{SECRET}'\nDB_PASSWORD=\"{SECRET}\"",
        f"postgresql://user:{SECRET}@db.example/app?sslmode=require",
        f"redis://:{quote(SECRET)}@cache/0",
        f"Server=x;User Id=sa;Password={SECRET};Encrypt=true",
        f"token: {SECRET}\npassword: {SECRET}\n",
        f"[profile]\naws_secret_access_key = {SECRET}\naws_session_token = {SECRET}\n",
        f"<config><apiKey>{SECRET}</apiKey></config>",
        f"deploy --token {SECRET} --client-secret={SECRET}",
        f"Set-Cookie: session={SECRET}; HttpOnly",
        f"https://x/cb?access_token={SECRET}#id_token={SECRET}",
        f"https://bucket/x?X-Amz-Credential={SECRET}&X-Amz-Signature={SECRET}",
        f"grant_type=client_credentials&client_secret={SECRET}&refresh_token={SECRET}",
    ],
)
def test_a_secret_survives_in_no_usual_place(text: str) -> None:
    masked = redact(text)
    assert SECRET not in masked
    assert BASIC not in masked
    assert "canary" not in masked
    assert "[redacted]" in masked
    assert redact(masked) == masked


def test_masking_leaves_json_readable() -> None:
    body = {
        "api_key": SECRET,
        "url": f"https://u:{SECRET}@h/",
        "auth": f"Bearer {SECRET}",
        "cookie": f'set cookie: a={SECRET}; b="x"',
        "text": f'she said "password={SECRET}" twice',
        "nested": json.dumps({"token": SECRET}),
    }
    assert set(json.loads(redact(json.dumps(body)))) == set(body)
