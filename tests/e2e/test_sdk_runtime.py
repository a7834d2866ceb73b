"""An SDK over a runtime's own client: secret in the vault, rows in the sealed log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core import AuditQuery
from core.adapters import httpx_transport
from core.model import AuditAction
from tests.e2e.sdk import PLACEHOLDER, stopped_midway
from tests.support.llmock import CREDENTIAL, KEY, TEXT, peer_runtime


async def test_calls_and_a_stop_are_in_the_log(llmock: Any, tmp_path: Path, caplog: Any) -> None:
    from httpx2 import AsyncClient
    from openai import AsyncOpenAI

    caplog.set_level("DEBUG")
    llmock.reply(TEXT).reply(TEXT).stall(after_chunks=3, seconds=30)
    ask: Any = {"model": "gpt-4o", "messages": [{"role": "user", "content": "go"}]}
    url = llmock.base_url()
    async with peer_runtime(tmp_path, url) as runtime:  # verifies the log when it is left
        http = AsyncClient(transport=httpx_transport(runtime.http(CREDENTIAL)))
        sdk = AsyncOpenAI(base_url=url, api_key=PLACEHOLDER, http_client=http, max_retries=0)
        async with sdk:
            whole = await sdk.chat.completions.create(**ask)
            stream = await sdk.chat.completions.create(**ask, stream=True)
            assert await stopped_midway(stream, "cancelled")
        rows = await runtime.audit.page(AuditQuery())
    assert whole.choices[0].message.content == TEXT
    calls = [row for row in reversed(rows) if row.call_id is not None]
    assert [(row.action, row.success, row.status, row.credential) for row in calls] == [
        (AuditAction.HTTP_CALL, True, 200, CREDENTIAL),
        (AuditAction.HTTP_CALL_CANCELLED, False, 200, CREDENTIAL),
    ]
    assert KEY not in caplog.text
