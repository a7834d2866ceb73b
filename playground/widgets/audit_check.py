"""Checks the audit chain without holding up the screen, or the exit."""

from __future__ import annotations

import asyncio
from threading import Thread

from core import AuditQuery
from core.errors import StepbrakeError
from playground.state.audit import Proof, Verified
from playground.state.audit_source import AuditSource, Verification


async def check_chain(source: AuditSource) -> Verified:
    """Verify the whole log and return what the badge shows."""
    try:
        result = await _in_thread(source)
    except StepbrakeError as error:
        return Verified(Proof.UNCHECKED, why=error.what)
    if not result.ok:
        findings = {finding.seq: finding.reason for finding in result.findings}
        return Verified(Proof.BROKEN, result.rows, findings=findings)
    last = await source.page(AuditQuery(), before=result.rows + 1, limit=1)
    return Verified(Proof.LINKED, result.rows, last[0].mac.hex() if last else "")


async def _in_thread(source: AuditSource) -> Verification:
    """Run the check in a daemon thread: a pool's threads are waited for at exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Verification] = loop.create_future()

    def settle(result: Verification | None, error: Exception | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        elif result is not None:
            done.set_result(result)

    def check() -> None:
        result: Verification | None = None
        error: Exception | None = None
        try:
            result = source.verify()
        except Exception as problem:  # handed to whoever awaits
            error = problem
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    Thread(target=check, name="audit-verify", daemon=True).start()
    return await done
