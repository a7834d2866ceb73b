"""Processes that write until they are killed, and what they say was acknowledged."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.core.store.child"])


def fork(work: Callable[[str, str], None], database: Path, acknowledged: Path) -> BaseProcess:
    """Start ``work(database, acknowledged)`` in a process of its own."""
    acknowledged.touch()
    process = _FORKS.Process(target=work, args=(str(database), str(acknowledged)), daemon=True)
    process.start()
    return process


async def wait_for_rows(file: Path, lines: int) -> None:
    """Wait until that many lines were acknowledged."""
    deadline = time.monotonic() + 20
    while file.read_bytes().count(b"\n") < lines:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.002)
