"""The demo's scenes over the scripted transport: the server's side, piece by piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

from core.demo.scenes import Answer, Conversation, Fault, react
from tests.fakes.transport import ScriptedTransfer

HOST = "demo.test"
BASE_URL = f"http://{HOST}/v1"
PIECES = 3


class DemoServerScript:
    """Answers transfers as the demo server would, one delivery at a time.

    Args:
        scene: the scene every model call plays.

    Attributes:
        completed: paths of the requests answered to the end.
    """

    def __init__(self, scene: str) -> None:
        self._scene = scene
        self._attempts = 0
        self._deliveries: list[tuple[ScriptedTransfer, Iterator[Callable[[], object]]]] = []
        self.completed: list[str] = []

    def take(self, transfer: ScriptedTransfer) -> None:
        """Begin to answer a transfer."""
        path = transfer.request.url.path
        script = self._model(transfer) if path.endswith("/completions") else self._api(transfer)
        self._deliveries.append((transfer, script))

    def actions(self) -> list[Callable[[], None]]:
        """Return the next delivery of each transfer under way."""
        self._deliveries = [item for item in self._deliveries if not item[0].over]
        return [partial(self._deliver, script) for _, script in self._deliveries]

    def _deliver(self, script: Iterator[Callable[[], object]]) -> None:
        next(script)()

    def _model(self, transfer: ScriptedTransfer) -> Iterator[Callable[[], object]]:
        body = json.loads(transfer.request.body)
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        reaction = react(
            self._scene,
            Conversation(
                base_url=f"http://{HOST}",
                prompt=body["messages"][0]["content"],
                turn=turn,
                attempt=self._attempts,
                tools=bool(body.get("tools")),
            ),
        )
        self._attempts += 1
        if isinstance(reaction, Fault):
            fault = reaction
            headers = {} if fault.retry_after is None else {"Retry_After": "1"}
            yield lambda: transfer.answer(fault.status, b"{}", **headers)
            return
        if not isinstance(reaction, Answer):
            return
        yield transfer.connected
        yield lambda: transfer.head(200, (("content-type", "text/event-stream"),))
        for chunk in _chunks(reaction, f"call_{len(body['messages'])}"):
            yield partial(transfer.data, chunk)
        yield lambda: self._end(transfer)

    def _api(self, transfer: ScriptedTransfer) -> Iterator[Callable[[], object]]:
        yield transfer.connected
        yield lambda: transfer.head(200, (("content-type", "application/json"),))
        yield lambda: transfer.data(b'{"sky": "haze"}')
        yield lambda: self._end(transfer)

    def _end(self, transfer: ScriptedTransfer) -> None:
        self.completed.append(transfer.request.url.path)
        transfer.done()


def _chunks(answer: Answer, prefix: str) -> list[bytes]:
    size = max(1, -(-len(answer.text) // PIECES))
    deltas: list[dict[str, object]] = [
        {"content": "".join(answer.text[at : at + size])} for at in range(0, len(answer.text), size)
    ]
    deltas += [
        {
            "tool_calls": [
                {
                    "index": index,
                    "id": f"{prefix}_{index}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
            ]
        }
        for index, call in enumerate(answer.calls)
    ]
    finish = "tool_calls" if answer.calls else "stop"
    events: list[object] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    usage = {"prompt_tokens": 10, "completion_tokens": len(answer.text) + 1}
    events.append({"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return [*lines, b"data: [DONE]\n\n"]
