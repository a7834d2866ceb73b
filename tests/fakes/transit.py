"""A Transit engine on loopback."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "hvs.c4nary-token"
Answer = tuple[int, bytes]


class FakeTransit(ThreadingHTTPServer):
    """A Transit engine as far as it is used: ``encrypt`` and ``decrypt`` of one key.

    ``odd`` answers instead; ``gate`` holds answers back.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.held: dict[str, str] = {}
        self.odd: Answer | None = None
        self.gate: threading.Event | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str, token: str, content: dict[str, str]) -> Answer:
        self.requests.append((path, token, content))
        if self.gate is not None:
            self.gate.wait(20)
        if self.odd is not None:
            return self.odd
        if token != TOKEN:
            return 403, b'{"errors":["permission denied"]}'
        if path == "/v1/transit/encrypt/playground":
            wrapped = f"vault:v1:{base64.b64encode(b'w%d' % len(self.held)).decode()}"
            self.held[wrapped] = content["plaintext"]
            return 200, json.dumps({"data": {"ciphertext": wrapped, "key_version": 1}}).encode()
        if path == "/v1/transit/decrypt/playground" and content["ciphertext"] in self.held:
            plaintext = self.held[content["ciphertext"]]
            return 200, json.dumps({"data": {"plaintext": plaintext}}).encode()
        return 400, b'{"errors":["no"]}'


class _Handler(BaseHTTPRequestHandler):
    server: FakeTransit

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        token = self.headers["X-Vault-Token"]
        status, answer = self.server.answer(self.path, token, json.loads(body))
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        if 300 <= status < 400:
            self.send_header("Location", f"{self.server.url}/v1/elsewhere")
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base names it
        pass


@contextmanager
def transit_server() -> Iterator[FakeTransit]:
    """Run an engine."""
    server = FakeTransit()
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
    thread.start()
    try:
        yield server
    finally:
        if server.gate is not None:
            server.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()
