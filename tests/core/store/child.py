"""A process that writes, for tests that kill, freeze or crowd it.

``python -m tests.core.store.child COMMAND DATABASE [ARGUMENT]``; each acknowledged
write is one line on stdout.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Self

from core.store import AuditQuery, Commit, SqliteStore, open_sqlite
from core.store.sqlite import _schema, _upgrade
from core.store.sqlite._locks import OwnerLock, locks_folder
from tests.core.store.builders import (
    begin,
    entry,
    model_step,
    request,
    response,
    seal,
)
from tests.core.store.fixtures import seal_of

ROOT = Path(__file__).parents[3]


class Child:
    """A running child. Leaving the block kills it if it still runs."""

    def __init__(self, command: str, database: Path, argument: str = "") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.core.store.child", command, str(database), argument],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.read()
        self._process.__exit__(None, None, None)

    def line(self) -> str:
        """Return the next line, empty at the end."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def read(self) -> list[str]:
        """Return all lines until the child ends."""
        assert self._process.stdout is not None
        return self._process.stdout.read().splitlines()

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        return self._process.wait(20)


def say(*words: object) -> None:
    print(*words, flush=True)


async def write_for_ever(database: Path, acknowledged: str) -> None:
    """Several runs side by side; each acknowledged row is a line in a file.

    ``run RUN SEQ`` or ``audit CALL SEQ``.
    """
    with open(acknowledged, "ab", buffering=0) as file:
        store = await open_sqlite(database, seal=seal)
        names = [f"{os.getpid()}-{number}" for number in range(4)]
        await asyncio.gather(*(_drive(store, name, file) for name in names))


async def _drive(store: SqliteStore, run_id: str, file: BinaryIO) -> None:
    claim = await begin(store, run_id)
    file.write(f"run {run_id} 0\n".encode())
    step = 0
    while True:
        committed = await store.commit(
            Commit(
                claim=claim,
                outcomes=(response(f"s{step - 1}", run_id),) if step else (),
                intents=(request(f"s{step}", run_id),),
                opened_steps=(model_step(f"s{step}"),),
                durable=bool(step % 2),
            )
        )
        for event in committed.events:
            file.write(f"run {run_id} {event.seq}\n".encode())
        row = await store.append_audit(entry(call_id=f"{run_id}-{step}", run_id=run_id))
        file.write(f"audit {row.call_id} {row.seq}\n".encode())
        step += 1


async def call_for_ever(database: Path, acknowledged: str) -> None:
    """Several callers side by side: ``begun CALL``, then ``ended CALL SEQ``; some never end."""
    with open(acknowledged, "ab", buffering=0) as file:
        store = await open_sqlite(database, seal=seal)

        async def call(caller: int) -> None:
            for number in count():
                call_id = f"{os.getpid()}-{caller}-{number}"
                file.write(f"tried {call_id}\n".encode())
                await store.begin_call(entry(call_id=call_id))
                file.write(f"begun {call_id}\n".encode())
                if number % 5 == caller:
                    continue
                row = await store.append_audit(entry(call_id=call_id))
                file.write(f"ended {call_id} {row.seq}\n".encode())

        await asyncio.gather(*(call(number) for number in range(4)))


def call_and_be_killed(database: str, acknowledged: str) -> None:
    """Entry point of a forked process."""
    asyncio.run(call_for_ever(Path(database), acknowledged))


def write_and_be_killed(database: str, acknowledged: str) -> None:
    """Entry point of a forked process."""
    asyncio.run(write_for_ever(Path(database), acknowledged))


async def hold(database: Path, _: str) -> None:
    """Freeze inside a write transaction."""
    store = await open_sqlite(database, seal=seal)

    def freeze(transaction: Any) -> None:
        transaction.connection.execute("UPDATE meta SET value = value")
        say("frozen")
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(0.2)  # the kernel may stop this thread a moment later than the others

    await store._write(freeze, durable=False)
    await store.close()
    say("thawed")


async def own(database: Path, run_id: str) -> None:
    """Begin a run and wait to be killed."""
    store = await open_sqlite(database, seal=seal)
    await begin(store, run_id)
    say(store.owner)
    await asyncio.Event().wait()


async def append(database: Path, argument: str) -> None:
    """Append rows and steps from many callers; say how long the slowest took, in ms."""
    rows, starts_at = argument.split("@")
    store = await open_sqlite(database, seal=seal)
    await asyncio.sleep(max(0.0, float(starts_at) - time.time()))
    slowest = 0.0

    async def call(number: int) -> None:
        nonlocal slowest
        run_id = f"{os.getpid()}-{number}"
        claim = await begin(store, run_id)
        for step in range(int(rows)):
            began = time.perf_counter()
            await store.append_audit(entry(run_id=run_id))
            await store.commit(Commit(claim=claim, outcomes=(response(f"s{step}", run_id),)))
            slowest = max(slowest, time.perf_counter() - began)

    await asyncio.gather(*(call(number) for number in range(8)))
    await store.close()
    say(round(slowest * 1000, 1))


async def open_many(folder: Path, starts_at: str) -> None:
    """Open fresh databases at the same moments as other processes do."""
    for number in range(8):
        await asyncio.sleep(max(0.0, float(starts_at) + number * 0.15 - time.time()))
        store = await open_sqlite(folder / f"{number}.db", seal=seal)
        await store.append_audit(entry())
        say(store.database_id)
        await store.close()


async def fail(database: Path, _: str) -> None:
    """End with an error while everything is open."""
    store = await open_sqlite(database, seal=seal)
    store.watch(lambda: None)
    await begin(store)
    say(time.time())
    raise RuntimeError("on purpose")


async def call(database: Path, call_id: str) -> None:
    """Write a call's intent and wait to be killed."""
    store = await open_sqlite(database, seal=seal)
    await store.begin_call(entry(call_id=call_id))
    say("begun")
    await asyncio.Event().wait()


async def own_lock(database: Path, _: str) -> None:
    """Hold an owner's lock, as a process of an earlier version does."""
    lock = OwnerLock(locks_folder(database))
    say("held")
    await asyncio.Event().wait()
    lock.release()


async def upgrade_and_die(database: Path, moment: str) -> None:
    """Be killed in the backup of an older database, or before a statement of its migration."""

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    class Deadly(tuple[str, ...]):
        def __iter__(self) -> Iterator[str]:
            for number, statement in enumerate((*super().__iter__(), "")):
                if number == int(moment):
                    die()
                yield statement

    if moment == "backup":
        vars(_upgrade)["_sync"] = die
    else:
        _schema.MIGRATIONS = (_schema.MIGRATIONS[0], Deadly(_schema.MIGRATIONS[1]))
    await open_sqlite(database, seal=partial(seal_of, database))


async def open_old(database: Path, starts_at: str) -> None:
    """Open a database of an earlier version at the same moment as others do."""
    await asyncio.sleep(max(0.0, float(starts_at) - time.time()))
    store = await open_sqlite(database, seal=partial(seal_of, database))
    say(await store.audit_count(AuditQuery()))
    await store.close()


COMMANDS = {
    "append": append,
    "call": call,
    "fail": fail,
    "hold": hold,
    "open-many": open_many,
    "open-old": open_old,
    "own": own,
    "own-lock": own_lock,
    "upgrade-and-die": upgrade_and_die,
}

if __name__ == "__main__":
    _, command, database, argument = sys.argv
    asyncio.run(COMMANDS[command](Path(database), argument))
