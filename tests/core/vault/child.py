"""A process with a vault, for tests that kill it or let others work beside it.

``python -m tests.core.vault.child COMMAND DATABASE KEYFILE ARGUMENT``
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.audit import sealer
from core.clock import SystemClock
from core.keys import FileKeyProvider
from core.store import SqliteStore, open_sqlite
from core.store.sqlite import _audit, _secrets
from core.vault import Vault

ROOT = Path(__file__).parents[3]
STEPS = (
    "before the key",
    "key beside the file",
    "key in the file",
    "key stored",
    "before the transaction",
    "secrets in the transaction",
    "row in the transaction",
    "committed",
)


def start(
    command: str, database: Path, key_file: Path, argument: str = ""
) -> subprocess.Popen[str]:
    """Start a child; its stdout is a pipe."""
    module = ("-m", "tests.core.vault.child", command)
    return subprocess.Popen(
        [sys.executable, *module, str(database), str(key_file), argument],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def say(*words: object) -> None:
    print(*words, flush=True)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def open_vault(database: Path, key_file: Path) -> tuple[Vault, SqliteStore]:
    keys = FileKeyProvider(key_file)
    store = await open_sqlite(database, seal=sealer(keys))
    return Vault(store, keys, SystemClock()), store


def killed_at(step: str) -> None:
    """Arrange that this process kills itself at a step of a rotation."""
    number = STEPS.index(step)
    owners: list[tuple[Any, str, bool]] = [
        (FileKeyProvider, "renew", False),
        (os, "replace", False),
        (os, "replace", True),
        (FileKeyProvider, "renew", True),
        (SqliteStore, "rotate_key", False),
        (_secrets, "rewrap", True),
        (_audit, "rotate", True),
        (SqliteStore, "rotate_key", True),
    ]
    owner, name, after = owners[number]
    real: Callable[..., Any] = getattr(owner, name)

    async def last(*args: Any, **given: Any) -> None:
        if after:
            await real(*args, **given)
        die()

    def last_of_all(*args: Any, **given: Any) -> None:
        if after:
            real(*args, **given)
        die()

    setattr(owner, name, last if asyncio.iscoroutinefunction(real) else last_of_all)


async def rotate(database: Path, key_file: Path, step: str) -> None:
    """Rotate the master key, and die at ``step`` if one is named."""
    vault, store = await open_vault(database, key_file)
    if step:
        killed_at(step)
    rotated = await vault.rotate_key(actor="child")
    say(rotated.key_id, rotated.rewrapped)
    await store.close()


async def rotate_for_ever(database: Path, key_file: Path, _: str) -> None:
    vault, _store = await open_vault(database, key_file)
    say("ready")
    while True:
        await vault.rotate_key(actor="child")


async def rotate_often(database: Path, key_file: Path, times: str) -> None:
    vault, store = await open_vault(database, key_file)
    say("ready")
    for _ in range(int(times)):
        await vault.rotate_key(actor="child")
    await store.close()
    say("done")


async def use(database: Path, key_file: Path, rounds: str) -> None:
    """Read and rotate secrets while others rotate the master key."""
    vault, store = await open_vault(database, key_file)
    say("ready")
    for number in range(int(rounds)):
        value = (await vault.read("shared", host="a.example", port=443)).reveal()
        if value != "c4nary-shared":
            raise AssertionError("another value")
        await vault.set(f"own-{number % 3}", f"c4nary-{number}", actor="child")
    await store.close()
    say("done")


if __name__ == "__main__":
    _, command, database, key_file, argument = sys.argv
    commands = {
        "rotate": rotate,
        "rotate-for-ever": rotate_for_ever,
        "rotate-often": rotate_often,
        "use": use,
    }
    asyncio.run(commands[command](Path(database), Path(key_file), argument))
