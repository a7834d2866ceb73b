from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.audit import sealer
from core.store import SqliteStore, open_sqlite
from core.vault import Vault
from tests.fakes.clock import FakeClock
from tests.fakes.keys import Keyring


@pytest.fixture
def keyring() -> Keyring:
    return Keyring()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "v.db"


@pytest.fixture
async def store(path: Path, keyring: Keyring) -> AsyncIterator[SqliteStore]:
    store = await open_sqlite(path, seal=sealer(keyring), synchronous="normal")
    yield store
    await store.close()


@pytest.fixture
def vault(store: SqliteStore, keyring: Keyring, clock: FakeClock) -> Vault:
    return Vault(store, keyring, clock)
