"""The token endpoint of the demo server, and the scene behind it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from core.demo import DemoServer
from core.http import Request, Response
from tests.core.http.wire import Wire, curl

FORM = (("Content-Type", "application/x-www-form-urlencoded"),)


async def post(url: str, body: bytes, headers: tuple[tuple[str, str], ...]) -> Response:
    with curl() as transport:
        return await Wire(transport).client.send(Request("POST", url, headers, body))


async def token(demo: DemoServer, **fields: str) -> tuple[int, dict[str, Any]]:
    response = await post(f"{demo.url}/oauth/token", urlencode(fields).encode(), FORM)
    return response.status, json.loads(response.body)


async def test_any_demo_secret_gets_a_token(demo: DemoServer) -> None:
    fields = {"grant_type": "client_credentials", "client_id": "x", "client_secret": "demo-y"}
    status, answer = await token(demo, **fields)
    assert (status, answer["token_type"], answer["expires_in"]) == (200, "Bearer", 3600)
    assert answer["access_token"].startswith("demo-")
    (record,) = demo.stats()["requests"]
    assert (record["kind"], record["scene"], record["end"]) == ("api", "oauth", "complete")


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"grant_type": "password", "client_secret": "demo-y"}, 400, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, 401, "invalid_client"),
        ({"grant_type": "client_credentials", "client_secret": "y"}, 401, "invalid_client"),
    ],
)
async def test_refusals_are_the_standards(
    demo: DemoServer, fields: dict[str, str], status: int, error: str
) -> None:
    assert await token(demo, **fields) == (status, {"error": error})


@pytest.mark.parametrize(
    ("bearer", "status"), [("demo-access-token", 200), ("demo-key", 401), ("", 401)]
)
async def test_the_scene_wants_the_token_itself(demo: DemoServer, bearer: str, status: int) -> None:
    body = json.dumps({"model": "demo/oauth", "messages": [{"role": "user", "content": "x"}]})
    headers = (("Content-Type", "application/json"), ("Authorization", f"Bearer {bearer}"))
    response = await post(f"{demo.url}/v1/chat/completions", body.encode(), headers)
    assert response.status == status
