"""A model entry whose server is ``llmock``, and what every run against it must satisfy."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from core import AuditQuery, Run, RunRequest, RunResult, Runtime, open_runtime
from core.audit import verify
from core.config import load_config
from core.model import AuditAction, AuditRow, Event, Response, to_json
from tests.core.runs.rig import faults_of
from tests.fakes.clock import FakeClock
from tests.fakes.ids import FixedKeys
from tests.support.runtime import scripted_runtime
from tests.support.waiting import PATIENCE_S

MODEL, CREDENTIAL = "peer", "peer-key"
KEY = "k3y-that-nobody-sees-4711"
TEXT = "one two three four five six seven eight"
# Far longer than any test waits, so that only a stop or a bound of ours can end it.
STALL_S = 30.0

Outcome = tuple[AuditAction, bool, int]


def model_file(folder: Path, base_url: str) -> Path:
    """Write a configuration with one model entry, and return its path."""
    file = folder / "playground.toml"
    file.write_text(
        f'[models.{MODEL}]\nprovider = "openai-chat"\nbase_url = "{base_url}"\n'
        f'model = "gpt-4o"\ncredential = "{CREDENTIAL}"\n\n'
        f'[credentials.{CREDENTIAL}]\nhosts = ["{urlsplit(base_url).netloc}"]\n'
    )
    return file


@asynccontextmanager
async def peer_runtime(
    folder: Path, base_url: str, *, clock: FakeClock | None = None
) -> AsyncIterator[Runtime]:
    """Open a runtime that knows the model and its secret; verify its audit log at the end.

    Args:
        folder: where the configuration and the database are.
        base_url: the model's server.
        clock: stands still but for the test; None: the machine's.
    """
    file, database = model_file(folder, base_url), folder / "playground.db"
    opened = (
        open_runtime(database, config=file)
        if clock is None
        else scripted_runtime(folder, clock=clock, config=load_config(file))
    )
    async with opened as runtime:
        await runtime.secrets.set(CREDENTIAL, KEY, actor=runtime.user)
        yield runtime
    verification = verify(database, None if clock is None else FixedKeys().master_key())
    assert (verification.ok, verification.findings) == (True, ())
    assert verification.rows > 0


def asked(prompt: str = "go", **given: object) -> RunRequest:
    """Return a request to the model, with no tools unless some are given."""
    return RunRequest(**{"prompt": prompt, "model": MODEL, "tools": (), **given})  # type: ignore[arg-type]


def is_partial(text: str) -> bool:
    """Tell whether ``text`` is a part of ``TEXT`` and neither nothing nor all of it."""
    return TEXT.startswith(text) and 0 < len(text) < len(TEXT)


@dataclass(frozen=True)
class Ended:
    """A closed run.

    Attributes:
        result: what its waiter got.
        events: its stored events.
        calls: the audit rows of its calls, oldest first.
    """

    result: RunResult
    events: list[Event]
    calls: list[AuditRow]

    @property
    def outcomes(self) -> list[Outcome]:
        """Return action, success and status of every call."""
        return [(row.action, row.success, row.status) for row in self.calls]


async def ended(runtime: Runtime, run: Run) -> Ended:
    """Wait for a run's end; check its stream, its row and its calls against each other."""
    result = await asyncio.wait_for(run.wait(), PATIENCE_S)
    async with run.events() as stream:
        events = [event async for event in stream]
    assert faults_of(events) == []
    row = await run.status()
    assert (row.status, row.usage, row.open_steps) == (result.status, result.usage, ())
    assert (row.closed_us is not None, row.next_seq) == (True, len(events))
    rows = await runtime.audit.page(AuditQuery(run_id=run.id))
    calls = [row for row in reversed(rows) if row.call_id is not None]
    # Each attempt made one call, and each call left one row.
    attempts = [event for event in events if isinstance(event, Response) and event.executed]
    assert [event.call_ids for event in attempts] == [(row.call_id,) for row in calls]
    assert [event.step for event in attempts] == [row.step for row in calls]
    assert {(row.credential, row.host, row.method, row.path) for row in calls} <= {
        (CREDENTIAL, "127.0.0.1", "POST", "/v1/chat/completions")
    }
    assert KEY not in json.dumps([to_json(event) for event in events])
    return Ended(result, events, calls)


async def run_to_end(runtime: Runtime, request: RunRequest) -> Ended:
    """Start a run and return how it ended."""
    return await ended(runtime, await runtime.start(request))


@asynccontextmanager
async def cut_after(target: str, marks: Sequence[bytes]) -> AsyncIterator[str]:
    """Put a proxy before a server that ends an answer right behind a mark; give its URL.

    The answer's end is the connection's: to HTTP it looks whole.

    Args:
        target: the server's URL.
        marks: one for each answer, in order; later answers pass whole.
    """
    parts = urlsplit(target)
    left = list(marks)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mark = left.pop(0) if left else None
        with closing(writer):
            request = await _message(reader)
            far, out = await asyncio.open_connection(parts.hostname, parts.port)
            with closing(out):
                out.write(request)
                head, body = await _answer(far)
            if mark is not None:
                before, found, _ = body.partition(mark)
                assert found
                body = before + found
            writer.write(head + body)
            await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{parts.path}"


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
    return head + await reader.readexactly(int(length))


async def _answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read a chunked answer; return its head, now without a length, and its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    head = re.sub(rb"(?i)transfer-encoding: chunked", b"connection: close", head)
    return head, body
