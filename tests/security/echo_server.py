"""A model server that tells everybody the key it was called with.

The model's name says how: ``echo``, ``whole``, ``words``, ``refused``, ``reported``,
``broken``. ``GET`` of any path tells it too. ``POST /token`` is an OAuth token endpoint.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.security.canary import SHAPED, spellings

_PIECE = 3


@dataclass
class EchoServer:
    """Where it is, and the bodies it was sent."""

    port: int
    bodies: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"


@contextmanager
def echo_server() -> Iterator[EchoServer]:
    """Serve on loopback, in threads."""

    class Handler(_Handler):
        seen = EchoServer(0)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        Handler.seen.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield Handler.seen
        finally:
            http.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    seen: EchoServer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer(418, "text/plain", "\n".join(spellings(self._key())))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/token":
            token = {"access_token": SHAPED, "token_type": "bearer", "expires_in": 3600}
            self._answer(200, "application/json", json.dumps(token))
            return
        self.seen.bodies.append(body)
        asked = json.loads(body)
        getattr(self, f"_{asked['model']}")(self._key(), asked)

    def _key(self) -> str:
        value = self.headers.get("Authorization") or self.headers.get("X-Key") or ""
        key = value.removeprefix("Bearer ")
        if value.startswith("Basic "):
            key = base64.b64decode(value.removeprefix("Basic ")).decode().partition(":")[2]
        self.seen.keys.append(key)
        return key

    def _echo(self, key: str, asked: dict[str, Any]) -> None:
        if any(message["role"] == "tool" for message in asked["messages"]):
            self._stream([{"content": "That is all."}], "stop")
            return
        said = " | ".join(spellings(key))
        deltas: list[dict[str, Any]]
        deltas = [{"reasoning_content": piece} for piece in _pieces(f"thinking of {said} now")]
        deltas += [{"content": piece} for piece in _pieces(f"the key is {said}.")]
        calls = [
            ("leak", json.dumps({"text": key})),
            ("http_get", json.dumps({"url": f"{self.seen.url}/all"})),
            (key, "{}"),
        ]
        for index, (name, arguments) in enumerate(calls):
            first = {"index": index, "id": f"call-{index}", "function": {"name": name}}
            deltas.append({"tool_calls": [first]})
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in _pieces(arguments)
            ]
        self._stream(deltas, "tool_calls")

    def _whole(self, key: str, _: dict[str, Any]) -> None:
        message = {"content": " | ".join(spellings(key)), "reasoning": key}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._answer(200, "application/json", json.dumps({"choices": [choice]}))

    def _words(self, key: str, _: dict[str, Any]) -> None:
        self._stream([{"content": "hm"}, {key: 1, "x" * 65 + key: 2}], key)

    def _refused(self, key: str, _: dict[str, Any]) -> None:
        # The key lies where a message is cut, and behind a name that has a shape of its own.
        message = f"password={key} {'x' * 220} {key} {' '.join(spellings(key))}"
        self._answer(401, "application/json", json.dumps({"error": {"message": message}}))

    def _reported(self, key: str, _: dict[str, Any]) -> None:
        self._begin(200, "text/event-stream")
        error = {"error": {"message": f"{'y ' * 120} {key} {key} token: {key}"}}
        self._event({"choices": [{"index": 0, "delta": {"content": "so "}}]})
        self._event(error)

    def _broken(self, key: str, _: dict[str, Any]) -> None:
        self._begin(200, "text/event-stream")
        for piece in _pieces(f"it is {key} and {key}"):
            self._event({"choices": [{"index": 0, "delta": {"content": piece}}]})

    def _stream(self, deltas: list[dict[str, Any]], reason: str) -> None:
        self._begin(200, "text/event-stream")
        for delta in deltas:
            self._event({"choices": [{"index": 0, "delta": delta}]})
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, data: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def _answer(self, status: int, kind: str, body: str) -> None:
        self._begin(status, kind, ("Content-Length", str(len(body.encode()))))
        self.wfile.write(body.encode())

    def _begin(self, status: int, kind: str, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Connection", "close"), *headers):
            self.send_header(name, value)
        self.end_headers()


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
