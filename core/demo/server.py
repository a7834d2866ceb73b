"""The demo server: a chat endpoint, an API behind a key, and what was asked of both."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from dataclasses import asdict, dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, parse_qsl, urlsplit

from core.demo import _hostile
from core.demo._chat import BadRequest, ChatRequest, Completion
from core.demo._http import HttpConnection, Incoming
from core.demo._pace import Pacer
from core.demo._weather import CITIES, forecast
from core.demo.scenes import TOKEN_SECONDS, Answer, Fault, react
from core.errors import UsageError

MAX_RECORDS = 100_000
MAX_RUNS = 10_000
# Any: processes with databases of their own can share the server.
_ANY_DEMO_SECRET = "demo-"  # noqa: S105 - a prefix
_ACCESS_TOKEN = "demo-access-token"  # noqa: S105 - opens nothing but the demo
_PATHS = {
    "/v1/chat/completions": "POST",
    "/oauth/token": "POST",
    "/api/forecast": "GET",
    "/api/hostile": "GET",
}


@dataclass(slots=True)
class _Record:
    """One request received, as ``/_stats`` tells it."""

    kind: Literal["model", "api"]
    scene: str | None
    run_id: str | None
    at_ns: int
    tokens: int = 0
    end: Literal["complete", "disconnected"] | None = None

    def disconnected(self) -> None:
        self.end = "disconnected"


class DemoServer:
    """A scripted model behind a real HTTP server on loopback.

    Args:
        pace: what a second of a scene lasts, in seconds; 0: no waits.
        host: the address to listen on.
        port: the port to listen on; 0: any free one.
    """

    def __init__(
        self,
        *,
        pace: float = 1.0,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._pace = pace
        self._host = host
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[HttpConnection] = set()
        self._records: deque[_Record] = deque(maxlen=MAX_RECORDS)
        self._attempts: OrderedDict[tuple[str, str], int] = OrderedDict()

    async def start(self) -> None:
        """Begin to listen.

        Raises:
            UsageError: the address cannot be listened on.
        """
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: HttpConnection(self._answer, self._connections), self._host, self._port
            )
        except OSError as error:
            raise UsageError(
                "The demo server cannot listen there",
                where=f"{self._host}:{self._port}",
                hint="Is the port in use? Port 0 takes any free one.",
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        """Where it listens, e.g. ``http://127.0.0.1:8000``; known once it has started."""
        return f"http://{self._host}:{self._port}"

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is None:
            return
        self._server.close()
        tasks = [connection.task for connection in self._connections]
        for connection in list(self._connections):
            connection.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def stats(self) -> dict[str, Any]:
        """Return what was asked so far: ``{"requests": [...]}``, oldest first.

        Each is ``{kind, scene, run_id, at_ns, tokens, end}``: ``kind`` is ``model`` or ``api``,
        ``at_ns`` monotonic, ``tokens`` those generated, ``end`` is ``complete``,
        ``disconnected`` or, while it is open, None.
        """
        return {"requests": [asdict(record) for record in self._records]}

    async def _answer(self, incoming: Incoming, connection: HttpConnection) -> None:
        path = urlsplit(incoming.target).path
        if path == "/_stats":
            await connection.answer_json(200, self.stats())
            return
        if path not in _PATHS:
            await connection.answer_json(404, _error("not_found", "No such path"))
            return
        if incoming.method != _PATHS[path]:
            error = _error("method_not_allowed", f"Use {_PATHS[path]}")
            await connection.answer_json(405, error, headers={"Allow": _PATHS[path]})
            return
        record = _Record(
            kind="model" if path.startswith("/v1/") else "api",
            scene=None,
            run_id=incoming.headers.get("x-run-id"),
            at_ns=time.monotonic_ns(),
        )
        self._records.append(record)
        connection.on_lost = record.disconnected
        if record.kind == "model":
            await self._answer_chat(incoming, connection, record)
        elif path == "/oauth/token":
            await self._answer_token(incoming, connection, record)
        else:
            await self._answer_api(incoming, connection)
        connection.on_lost = None
        record.end = "complete"

    async def _answer_chat(
        self, incoming: Incoming, connection: HttpConnection, record: _Record
    ) -> None:
        try:
            request = ChatRequest.parse(incoming.body)
        except BadRequest as error:
            kind = "model_not_found" if error.status == 404 else "invalid_request_error"
            await connection.answer_json(error.status, _error(kind, str(error)))
            return
        record.scene = request.scene
        if request.scene == "oauth" and _bearer(incoming) != _ACCESS_TOKEN:
            wrong = _error("invalid_token", "This scene asks for an access token")
            await connection.answer_json(401, wrong)
            return
        host = incoming.headers.get("host") or f"{self._host}:{self._port}"
        attempt = self._count_attempt(request.scene, record.run_id or "")
        reaction = react(
            request.scene, request.conversation(base_url=f"http://{host}", attempt=attempt)
        )
        if isinstance(reaction, Fault):
            await self._answer_fault(reaction, connection)
        elif isinstance(reaction, Answer):
            await self._answer_tokens(Completion(request, reaction), request, connection, record)
        else:
            # Ends when the client goes away: the task is cancelled then.
            await asyncio.Event().wait()

    async def _answer_tokens(
        self,
        completion: Completion,
        request: ChatRequest,
        connection: HttpConnection,
        record: _Record,
    ) -> None:
        pacer = Pacer(self._pace)
        if not request.stream:
            async for _ in completion.deltas(pacer):
                record.tokens += 1
            await connection.answer_json(200, completion.whole())
            return
        await connection.begin_events()
        await connection.event(completion.chunk({"role": "assistant", "content": ""}))
        async for delta in completion.deltas(pacer):
            record.tokens += 1
            await connection.event(completion.chunk(delta))
        await connection.event(completion.chunk({}, completion.finish_reason))
        if request.include_usage:
            await connection.event(completion.usage_chunk())
        await connection.event("[DONE]")
        await connection.end_events()

    async def _answer_fault(self, fault: Fault, connection: HttpConnection) -> None:
        headers = {}
        if fault.retry_after is not None:
            headers["Retry-After"] = str(math.ceil(fault.retry_after * self._pace))
        await connection.answer_json(
            fault.status, _error(fault.kind, fault.message), headers=headers
        )

    async def _answer_token(
        self, incoming: Incoming, connection: HttpConnection, record: _Record
    ) -> None:
        """Grant a token for any demo secret (RFC 6749, section 4.4)."""
        record.scene = "oauth"
        await asyncio.sleep(TOKEN_SECONDS * self._pace)
        fields = dict(parse_qsl(incoming.body.decode("ascii", "replace")))
        if fields.get("grant_type") != "client_credentials":
            await connection.answer_json(400, {"error": "unsupported_grant_type"})
        elif not fields.get("client_secret", "").startswith(_ANY_DEMO_SECRET):
            await connection.answer_json(401, {"error": "invalid_client"})
        else:
            token = {"access_token": _ACCESS_TOKEN, "token_type": "Bearer", "expires_in": 3600}
            await connection.answer_json(200, token, headers={"Cache-Control": "no-store"})

    async def _answer_api(self, incoming: Incoming, connection: HttpConnection) -> None:
        if not _bearer(incoming).startswith(_ANY_DEMO_SECRET):
            error = _error("unauthorized", "This API asks for the demo credential")
            headers = {"WWW-Authenticate": "Bearer"}
            await connection.answer_json(401, error, headers=headers)
            return
        target = urlsplit(incoming.target)
        if target.path == "/api/hostile":
            body = _hostile.TEXT.encode("utf-8", "surrogatepass")
            await connection.answer(200, body, content_type="text/plain; charset=utf-8")
            return
        city = parse_qs(target.query).get("city", [CITIES[0]])[0]
        await connection.answer_json(200, asdict(forecast(city)))

    def _count_attempt(self, scene: str, run_id: str) -> int:
        """Return how often this run has called this scene before."""
        key = (scene, run_id)
        count = self._attempts.pop(key, 0)
        self._attempts[key] = count + 1
        if len(self._attempts) > MAX_RUNS:
            self._attempts.popitem(last=False)
        return count


def _bearer(incoming: Incoming) -> str:
    scheme, _, token = incoming.headers.get("authorization", "").partition(" ")
    return token if scheme == "Bearer" else ""


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}
