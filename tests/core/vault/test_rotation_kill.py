"""Rotations of the master key that are killed, or that others work beside."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from core.audit import verify, verify_log
from core.keys import FileKeyProvider
from core.model import AuditAction
from core.store import AuditQuery
from tests.core.vault.child import STEPS, open_vault, start

SECRETS = {f"key{number}": f"c4nary-{number}-Value" for number in range(4)}


async def fill(database: Path, key_file: Path) -> str:
    """Make a database with secrets; return its key's id."""
    key = FileKeyProvider(key_file).master_key(make=True)
    vault, store = await open_vault(database, key_file)
    for name, value in SECRETS.items():
        await vault.set(name, value, hosts=("a.example",), actor="me")
    await store.close()
    return key.key_id


async def check(database: Path, key_file: Path) -> set[str]:
    """Check that everything is readable and verifies; return the keys of the secrets."""
    vault, store = await open_vault(database, key_file)
    try:
        for name, value in SECRETS.items():
            assert (await vault.read(name, host="a.example", port=443)).reveal() == value
        return {record.key_id for record in await store.list_secrets()}
    finally:
        await store.close()
        assert verify_log(database, FileKeyProvider(key_file)).ok


async def finish(database: Path, key_file: Path) -> str:
    """Rotate as whoever runs the command again; return the key in use."""
    vault, store = await open_vault(database, key_file)
    rotated = await vault.rotate_key(actor="me")
    rows = await store.audit_page(AuditQuery(actions=(AuditAction.MASTER_KEY_ROTATED,)))
    assert rows[0].key_id == rotated.key_id
    await store.close()
    assert await check(database, key_file) == {rotated.key_id}
    assert FileKeyProvider(key_file).master_key().key_id == rotated.key_id
    assert verify(database, FileKeyProvider(key_file).master_key()).ok
    return rotated.key_id


async def test_a_rotation_killed_at_any_step_goes_on(tmp_path: Path) -> None:
    places = {}
    for number, step in enumerate(STEPS):
        database, key_file = tmp_path / f"{number}.db", tmp_path / "keys" / f"{number}.key"
        places[step] = (database, key_file, await fill(database, key_file))
    children = {step: start("rotate", *place[:2], step) for step, place in places.items()}
    for step, (database, key_file, first) in places.items():
        child = children[step]
        assert child.communicate(timeout=60)[0] == "", step
        assert child.returncode == -signal.SIGKILL, step
        held = key_file.read_text().split()
        stored = STEPS.index(step) >= STEPS.index("key in the file")
        assert len(held) == (2 if stored else 1), step
        committed = step == "committed"
        [under] = await check(database, key_file)
        assert (under == first) != committed, step
        newest = FileKeyProvider(key_file).master_key().key_id
        key_id = await finish(database, key_file)
        if stored and not committed:
            assert key_id == newest, f"{step}: another key than the stored one"
        assert sorted(path.name for path in key_file.parent.glob(f".{key_file.name}*")) == []


@pytest.mark.timeout(600)
async def test_rotations_killed_at_any_moment_lose_nothing(tmp_path: Path, soak: bool) -> None:
    database, key_file = tmp_path / "v.db", tmp_path / "keys" / "k"
    await fill(database, key_file)
    dice = random.Random(7)
    for _ in range(200 if soak else 4):
        child = start("rotate-for-ever", database, key_file)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(dice.uniform(0, 0.08))
        child.kill()
        child.communicate()
        assert len(await check(database, key_file)) == 1
    await finish(database, key_file)


async def test_processes_work_on_while_the_key_is_rotated(tmp_path: Path) -> None:
    database, key_file = tmp_path / "v.db", tmp_path / "keys" / "k"
    await fill(database, key_file)
    vault, store = await open_vault(database, key_file)
    await vault.set("shared", "c4nary-shared", hosts=("a.example",), actor="me")
    users = [start("use", database, key_file, "30"), start("rotate-often", database, key_file, "8")]
    for user in users:
        assert user.stdout is not None
        assert user.stdout.readline() == "ready\n"
    rotations = 0
    while any(user.poll() is None for user in users):
        await vault.rotate_key(actor="me")
        rotations += 1
    for user in users:
        assert user.communicate()[0] == "done\n"
        assert user.returncode == os.EX_OK
    assert rotations > 1
    await store.close()
    await finish(database, key_file)
